"""The same objects at the gate of the preview and at a real API server: one verdict, one sentence.

First the policies are in audit, as an environment begins: the server takes every object and warns
of each rule that it breaks. Then they deny: what the preview stops is refused in the same words,
and what nobody can read is refused, too. Every request is a dry run.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from policies.language.rule import Rule
from tests.rehearsal.admission.cases import CASES, Case
from tests.support.admission.server import ADMITTED, Answer, Server
from tests.support.admission.verdicts import RULES, canary, deny, planned, warn

AT_ONCE = 4
WELL_FORMED = [case for case in CASES if not case.malformed]
MALFORMED = [case for case in CASES if case.malformed]


@pytest.fixture(scope="module")
def auditing(server: Server) -> Server:
    """The server with every rule as a policy that warns."""
    warn(server)
    return server


@pytest.fixture(scope="module")
def warned(auditing: Server, request: pytest.FixtureRequest) -> Mapping[str, Answer]:
    """What the server says of each object that a test of this run asks about, by the case's id."""
    asked = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    cases = [found["case"] for found in asked if found.get("case") in WELL_FORMED]
    together = [
        case for case in cases if "ephemeralContainers" not in case.manifest.get("spec", {})
    ]
    alone = [case for case in cases if case not in together]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(pool.map(lambda case: auditing.try_out(case.manifest), together))
    answers += [auditing.try_out(case.manifest) for case in alone]
    return {case.id: answer for case, answer in zip([*together, *alone], answers, strict=True)}


@pytest.fixture(scope="module")
def denying(server: Server) -> Server:
    """The server with every rule as a policy that refuses."""
    deny(server, RULES)
    return server


@pytest.mark.parametrize("case", WELL_FORMED, ids=lambda case: case.id)
def test_both_gates_say_the_same(warned: Mapping[str, Answer], case: Case) -> None:
    expected, answer = planned(case.manifest), warned[case.id]

    assert (case.rule in expected) is not case.good, expected.get(case.rule)
    assert answer.taken, answer.message
    assert answer.rules().keys() == expected.keys(), answer.told
    for rule, said in answer.rules().items():
        assert said in expected[rule]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_objects_that_the_preview_stops_are_refused_in_the_same_words(
    denying: Server, rule: Rule
) -> None:
    expected = planned(canary(rule).manifest)
    answer = denying.try_out(canary(rule).manifest)

    assert answer.by_policy
    sentences = [sentence for said in expected.values() for sentence in said]
    assert answer.message.endswith(tuple(sentences)), answer.message


def test_objects_that_keep_all_rules_are_admitted(denying: Server) -> None:
    kept = {case.rule: case for case in WELL_FORMED if case.good and not planned(case.manifest)}

    assert len(kept) > len(RULES) // 2
    for case in kept.values():
        assert denying.try_out(case.manifest).taken, case.id


@pytest.mark.parametrize("case", MALFORMED, ids=lambda case: case.id)
def test_objects_that_cannot_be_read_are_refused_at_both_gates(denying: Server, case: Case) -> None:
    assert case.rule in planned(case.manifest), "the preview lets it pass"
    assert not denying.try_out(case.manifest).taken, "the API server lets it pass"


def test_every_rule_that_is_held_here_has_objects_that_keep_and_that_break_it() -> None:
    held = {rule.id for rule in ADMITTED}
    assert {case.rule for case in CASES} <= held
    assert {case.rule for case in CASES if case.good} == held
    assert {case.rule for case in CASES if case.bad} == held
    assert len({case.id for case in CASES}) == len(CASES)
