"""What identifies a run, and what only looks as if it did."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.backtests import PROVENANCE
from workloads.backtest.provenance import REQUIRED, Provenance, ProvenanceError

LABEL = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}", fullmatch=True)


@given(experiment=LABEL, team=LABEL, cost_centre=LABEL, seed=st.integers())
def test_provenance_survives_its_way_through_metadata(
    experiment: str, team: str, cost_centre: str, seed: int
) -> None:
    made = replace(PROVENANCE, experiment=experiment, team=team, cost_centre=cost_centre, seed=seed)
    assert Provenance.of({**made.metadata(), "sharpe": "1.3"}) == made


def test_every_field_is_required_of_a_merge() -> None:
    assert set(REQUIRED) == PROVENANCE.metadata().keys()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("experiment", ""),
        ("team", "equities desk"),
        ("cost_centre", "c" * 64),
        ("code_revision", "main"),
        ("code_revision", "0123abc"),
        ("image_digest", "registry.example/backtest:latest"),
    ],
)
def test_a_value_that_identifies_nothing_is_refused(field: str, value: str) -> None:
    with pytest.raises(ProvenanceError) as refused:
        replace(PROVENANCE, **{field: value})  # type: ignore[arg-type]  # one text field at a time
    assert field.replace("_", "-") in str(refused.value)
    assert repr(value) in str(refused.value)


def test_every_wrong_field_has_its_sentence() -> None:
    with pytest.raises(ProvenanceError) as refused:
        replace(PROVENANCE, team="", code_revision="HEAD")
    assert len(str(refused.value).splitlines()) == 2


def test_a_seed_that_is_no_number_is_refused_when_read_back() -> None:
    with pytest.raises(ProvenanceError, match="seed"):
        Provenance.of({**PROVENANCE.metadata(), "seed": "seventeen"})
