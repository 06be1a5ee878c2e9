"""Which faults can be asked for, and how."""

import pytest

from rehearsal.errors import RehearsalError
from rehearsal.faults.asked import KINDS, AskedFault, asked


def test_every_kind_can_be_asked_for_and_they_come_in_the_order_of_their_times() -> None:
    words = [f"{kind}@{10 - place}" for place, kind in enumerate(KINDS)]
    assert [each.kind for each in asked(words)] == [*reversed(KINDS)]
    assert asked(["spot@2.5"]) == (AskedFault(kind="spot", at_s=2.5),)


@pytest.mark.parametrize("word", ["spot", "spot@", "flood@5", "spot@-1", "spot@soon", "node@9999"])
def test_a_word_that_is_no_fault_is_refused_with_what_is_allowed(word: str) -> None:
    with pytest.raises(RehearsalError) as refused:
        asked([word])
    said = str(refused.value)
    assert said.startswith(f"--fault {word}: allowed is KIND@SECONDS")
    assert all(kind in said for kind in KINDS)
