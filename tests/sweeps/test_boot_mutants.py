"""No configuration of the catalogue raises an alarm, and changes to any of them do.

The score is printed at the end of the run: mutants of each kind, caught, and harmless by the
reasons in mutants/harmless.py.
"""

import re
from collections.abc import Callable

import pytest

from ignition.boot.node import boot
from tests.support.ignition.roles import SECRETS
from tests.sweeps.boot_mutants.bases import Base
from tests.sweeps.boot_mutants.choices import TUNINGS, choices, other_roles
from tests.sweeps.boot_mutants.harmless import HARMLESS
from tests.sweeps.boot_mutants.score import KINDS, Score, drawn, score

# a message says what to change: by an imperative, by what must be, or by what is allowed
_ADVICE = re.compile(
    r"; |\bmust\b|allowed (are|is)|\bneeds?\b|\bwrite\b|\bgive\b|\bcannot stand\b|known: "
)


@pytest.fixture(scope="module", params=["some", pytest.param("all", marks=pytest.mark.slow)])
def bases(request: pytest.FixtureRequest) -> list[Base]:
    """Each machine with each purpose, a second tuning for training, and the other roles.

    Where only some are asked for, each machine has one purpose.
    """
    made = {"plain": [*choices(("plain",))], "odd": [*choices(("odd",))]}
    training = {
        tuning: [base for base in found if "training" in base.label]
        for tuning, found in made.items()
    }
    plain = training["plain"] if request.param == "some" else made["plain"]
    return [*plain, *training["odd"], *other_roles()]


@pytest.fixture(scope="module")
def found(bases: list[Base]) -> Score:
    """The score, which takes most of this module's time."""
    return score(bases)


def test_no_configuration_of_the_catalogue_raises_an_alarm() -> None:
    made = [*choices(), *other_roles()]
    assert len(made) >= 200
    assert {base.label.split()[-1] for base in made} >= TUNINGS.keys()
    booted = {base.label: boot(base.user_data, base.hardware) for base in made}
    alarms = {label: each.problems for label, each in booted.items() if each.problems}
    assert alarms == {}
    assert [booted[base.label].role for base in made] == [base.role for base in made]


def test_every_mutant_is_caught_or_known_to_be_harmless(
    found: Score, record_property: Callable[[str, object], None]
) -> None:
    record_property("table", "\n".join(("boot check against mutants", *found.table())))
    assert found.survivors == []


def test_there_are_enough_mutants_of_enough_kinds(found: Score, bases: list[Base]) -> None:
    assert found.made.keys() == KINDS.keys()
    assert len(found.made) >= 40
    assert found.made.total() >= 40 * len(bases)
    assert found.caught.total() >= 0.9 * found.made.total()


def test_every_message_says_what_to_change(found: Score) -> None:
    assert [message for message in found.messages if not _ADVICE.search(message)] == []


def test_no_message_repeats_a_secret(found: Score) -> None:
    said = "\n".join(found.messages)
    assert [secret for secret in SECRETS if secret[:20] in said] == []


def test_harmless_mutants_are_of_kinds_that_are_drawn() -> None:
    assert {kind for kind, _ in HARMLESS} <= KINDS.keys()


def test_the_same_mutants_are_drawn_in_every_run(bases: list[Base]) -> None:
    for kind in ("kubelet field dropped", "directive misspelt", "expectation changed"):
        assert list(drawn(kind, bases[0])) == list(drawn(kind, bases[0]))
