"""A rule that came after an object keeps nobody from deleting it, mending it or its status."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from policies.gates.admission import manifests
from tests.rehearsal.admission.cases_idle import node_pool
from tests.support.admission.objects import KINDS, Object, gpus, template
from tests.support.admission.server import ADMITTED, NAMESPACE, Answer, Server
from tests.support.admission.verdicts import configured, deny

FINALIZER = "fleet.gpu/kept"
ONE_DAY = timedelta(days=1)
WITH_STATUS = ("Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "Volcano's Job", "Pod")
QOS, POOL = (
    next(rule for rule in ADMITTED if rule.id == rule_id)
    for rule_id in ("numa/guaranteed-qos", "idle/gpu-node-pool")
)


def _bad() -> Mapping[str, Object]:
    """One object of every kind, each of which a rule refuses."""
    made = {kind: make(template(gpus(cpu="7.5"))) for kind, make in KINDS.items()}
    made["Pod"]["metadata"]["labels"] = {"app": "alone"}  # else a ReplicaSet would adopt it
    return {**made, "NodePool": node_pool(limits=None)}


BAD = _bad()


@pytest.fixture(scope="module")
def denying(server: Server) -> Server:
    """The server with rules that deny, and with an object of every kind from before them."""
    for manifest in BAD.values():
        server.made(manifest)
    deny(server, [QOS, POOL])
    return server


def changed(server: Server, manifest: Object, patch: Object, below: str = "") -> Answer:
    return server.ask("PATCH", server.place(manifest, below), patch)


@pytest.mark.parametrize("kind", BAD)
def test_the_same_object_would_be_refused_today(denying: Server, kind: str) -> None:
    another = {**BAD[kind], "metadata": {**BAD[kind]["metadata"], "name": "another"}}

    assert denying.try_out(another).by_policy


@pytest.mark.parametrize("kind", BAD)
def test_an_unchanged_spec_may_be_written_and_labelled(denying: Server, kind: str) -> None:
    found = denying.api.get(denying.place(BAD[kind]))
    assert found
    assert changed(denying, BAD[kind], {"metadata": {"labels": {"seen": "yes"}}}).taken
    assert changed(denying, BAD[kind], {"spec": found["spec"]}).taken


@pytest.mark.parametrize("kind", [kind for kind in BAD if kind not in WITH_STATUS])
def test_a_status_within_the_object_may_be_written(denying: Server, kind: str) -> None:
    assert changed(denying, BAD[kind], {"status": {"seen": "yes"}}).taken


@pytest.mark.parametrize("kind", WITH_STATUS)
def test_a_status_of_its_own_may_be_written(denying: Server, kind: str) -> None:
    found = denying.api.get(denying.place(BAD[kind]))
    assert found
    status = found.get("status") or {"conditions": []}
    assert changed(denying, BAD[kind], {"status": status}, "/status").taken


@pytest.mark.parametrize("kind", ["Deployment", "CronJob", "Workflow", "Volcano's Job", "NodePool"])
def test_a_changed_spec_is_judged_and_a_mended_one_taken(denying: Server, kind: str) -> None:
    good = KINDS[kind](template(gpus(cpu="8"))) if kind in KINDS else node_pool()
    place = denying.place(BAD[kind])
    still = {"spec": {**BAD[kind]["spec"], "template": BAD[kind]["spec"].get("template")}}
    still["spec"].update({"paused": True} if kind == "Deployment" else {})
    still["spec"].update({"weight": 7} if kind == "NodePool" else {})
    still["spec"].update({"suspend": True} if kind in ("CronJob", "Workflow") else {})
    still["spec"].update({"maxRetry": 7} if kind == "Volcano's Job" else {})

    assert denying.ask("PATCH", place, still, dryRun="All").by_policy
    assert denying.ask("PATCH", place, {"spec": good["spec"]}, dryRun="All").taken


@pytest.mark.parametrize("kind", BAD)
def test_an_object_from_before_the_rule_goes_with_all_that_it_made(
    denying: Server, kind: str
) -> None:
    manifest = BAD[kind]
    assert changed(denying, manifest, {"metadata": {"finalizers": [FINALIZER]}}).taken

    # the garbage collector learns of custom kinds every 30 s, and here these have made nothing
    policy = "Background" if "." in manifest["apiVersion"] else "Foreground"
    deleted = denying.ask(
        "DELETE", denying.place(manifest), propagationPolicy=policy, gracePeriodSeconds="0"
    )

    assert deleted.taken, deleted.message
    denying.wait_for("the deletion of what it made", lambda: _last(denying, manifest))
    assert changed(denying, manifest, {"metadata": {"finalizers": None}}).taken
    denying.wait_for("its end", lambda: denying.gone(manifest))


def _last(server: Server, manifest: Object) -> bool:
    """Whether the garbage collector has done its part: only our finalizer is left."""
    found = server.api.get(server.place(manifest)) or {"metadata": {}}
    return bool(found["metadata"].get("finalizers") == [FINALIZER])


def test_an_exemption_ends_on_its_day_for_what_is_made_and_not_for_what_runs(
    denying: Server,
) -> None:
    """The server's clock decides for an object that is new; the policy is of the day before."""
    before = datetime.now(UTC).date() - timedelta(days=1)
    bad = KINDS["Deployment"](template(gpus(cpu="7.5")))
    old, ended, exempt = (_named(bad, name) for name in ("old", "ended", "exempt"))
    denying.remove_policies()
    denying.wait_for("the end of the rules", lambda: denying.try_out(old).taken)
    denying.made(old)
    said = {"namespace": NAMESPACE, "owner": "desk", "reason": "warm-up"}
    leave = [
        {**said, "resource": f"Deployment/{name}", "until": until}
        for name, until in (("old", before), ("ended", before), ("exempt", before + ONE_DAY))
    ]
    rules = configured([QOS], exemptions=leave)
    denying.install(manifests(rules, stage="deny", today=before))

    denying.wait_for("the rule", lambda: denying.try_out(bad).by_policy)
    assert denying.try_out(exempt).taken
    assert denying.try_out(ended).by_policy
    assert changed(denying, old, {"spec": {"paused": True}}).taken
    assert denying.ask("DELETE", denying.place(old), propagationPolicy="Foreground").taken


def _named(found: Object, name: str) -> Object:
    return {**found, "metadata": {**found["metadata"], "name": name}}
