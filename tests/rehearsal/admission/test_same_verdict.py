"""The same objects at the gate of the preview and at a real API server: one verdict, one sentence.

The server is asked with a dry run. A second binding of each policy warns, so that every rule that
an object breaks is told and not only the one that the server refuses with.
"""

import pytest

from policies.gates.admission import manifests
from tests.rehearsal.admission.cases import CASES, Case, of
from tests.rehearsal.admission.server import ADMITTED, Server, telling
from tests.rehearsal.admission.verdicts import CONFIGURED, TODAY, planned


@pytest.fixture(scope="module")
def denying(server: Server) -> Server:
    """The server with every rule as a policy that refuses, each seen to be there."""
    policies = manifests(CONFIGURED, stage="deny", today=TODAY)
    server.install([*policies, *telling(policies)])
    for rule in ADMITTED:
        if canary := next((case for case in of(rule.id) if case.bad), None):
            expected = planned(canary.manifest)[rule.id]
            server.wait_for(
                f"the policy of {rule.id} on {canary.name}",
                lambda: server.try_out(canary.manifest).rules().get(rule.id) in expected,  # noqa: B023
            )
    return server


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_both_gates_say_the_same(denying: Server, case: Case) -> None:
    expected = planned(case.manifest)
    answer = denying.try_out(case.manifest)
    if case.malformed:
        assert case.rule in expected, "the preview lets it pass"
        assert not answer.taken, "the API server lets it pass"
        return
    assert (case.rule in expected) is not case.good, expected.get(case.rule)
    assert answer.taken or answer.by_policy, answer.message
    assert answer.rules().keys() == expected.keys(), answer.told
    for rule, said in answer.rules().items():
        assert said in expected[rule]
    assert answer.taken is not bool(expected)
    if expected:
        sentences = [sentence for said in expected.values() for sentence in said]
        assert answer.message.endswith(tuple(sentences)), answer.message
