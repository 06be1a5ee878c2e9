"""What is deleted and kept by a finalizer is judged like the rest, and can still be let go."""

from collections.abc import Iterator

import pytest

from tests.rehearsal.admission.cases_isolation import allows, role
from tests.support.admission.objects import Object
from tests.support.admission.server import ADMITTED, Server
from tests.support.admission.verdicts import deny

KEPT = {"finalizers": ["fleet.gpu/kept"]}
RULES = [
    next(rule for rule in ADMITTED if rule.id == rule_id)
    for rule_id in ("isolation/rbac-wildcards", "isolation/clear-secrets")
]


def kept(found: Object) -> Object:
    return {**found, "metadata": {**found["metadata"], **KEPT}}


ROLE = role("ClusterRole", "stuck", **allows())
MAP: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "stuck"}}
PATCHES = {
    "ClusterRole": (ROLE, {"rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]}),
    "ConfigMap": (MAP, {"data": {"db_password": "hunter2"}}),
}
OLD = role("ClusterRole", "old", **allows(verbs=["*"]))


@pytest.fixture(scope="module")
def denying(server: Server) -> Iterator[Server]:
    """The server with the rules, and with objects that wait for their finalizer."""
    server.made(kept(OLD))
    deny(server, RULES)
    for found in (ROLE, MAP):
        server.made(kept(found))
    for found in (OLD, ROLE, MAP):
        assert server.ask("DELETE", server.place(found)).taken
    yield server
    server.remove_policies()
    server.wait_for("the end of the rules", lambda: server.try_out(OLD).taken)


@pytest.mark.parametrize("kind", PATCHES)
def test_what_is_being_deleted_is_judged_when_it_is_written(denying: Server, kind: str) -> None:
    found, patch = PATCHES[kind]

    assert denying.ask("PATCH", denying.place(found), patch, dryRun="All").by_policy


@pytest.mark.parametrize("found", [OLD, ROLE, MAP], ids=["from before", "a role", "a ConfigMap"])
def test_it_loses_its_finalizer_and_goes(denying: Server, found: Object) -> None:
    let_go = {"metadata": {"finalizers": None}}

    assert denying.ask("PATCH", denying.place(found), let_go).taken
    denying.wait_for("its end", lambda: denying.gone(found))
