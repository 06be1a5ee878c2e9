"""What a role allows is no spec: a change of it must be judged, too, and no other change."""

import pytest

from policies.rules.isolation import rbac_wildcards as isolation_rbac_wildcards
from tests.rehearsal.admission.cases_isolation import allows, role
from tests.support.admission.server import Server
from tests.support.admission.verdicts import deny

RULE = isolation_rbac_wildcards.RULE
GOOD = role("ClusterRole", **allows())
BAD = role("ClusterRole", **allows(verbs=["*"]))


@pytest.fixture(scope="module")
def denying(server: Server) -> Server:
    server.made(BAD)
    deny(server, [RULE])
    return server


def test_a_role_from_before_the_rule_may_be_labelled_and_mended_but_not_broken_again(
    denying: Server,
) -> None:
    place = denying.place(BAD)
    labelled = {**BAD, "metadata": {"name": "train", "labels": {"seen": "yes"}}}

    assert denying.ask("PUT", place, labelled).taken
    assert denying.ask("PUT", place, GOOD).taken

    refused = denying.ask("PUT", place, BAD)
    assert not refused.taken
    assert refused.message.endswith("must name its verbs and not use a wildcard.")
    assert denying.ask("DELETE", place).taken
