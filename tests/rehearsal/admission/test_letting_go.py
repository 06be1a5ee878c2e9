"""A rule that came after an object keeps nobody from deleting it, mending it or its status."""

from collections.abc import Mapping

import pytest

from tests.rehearsal.admission.cases_idle import node_pool
from tests.support.admission.objects import KINDS, Object, gpus, pod, template
from tests.support.admission.server import ADMITTED, Answer, Server
from tests.support.admission.verdicts import deny

FINALIZER = "fleet.gpu/kept"
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


@pytest.mark.parametrize(("until", "taken"), [("2026-11-21", True), ("2026-11-20", False)])
def test_an_exempt_object_is_taken_to_the_last_day(
    denying: Server, until: str, taken: bool
) -> None:
    leave = {"resource": "Pod/exempt", "owner": "desk", "reason": "warm-up", "until": until}
    deny(denying, [QOS], exemptions=[leave])
    bad = pod(gpus(cpu="7.5"))
    exempt = {**bad, "metadata": {**bad["metadata"], "name": "exempt"}}

    denying.wait_for("the exemption", lambda: denying.try_out(exempt).taken is taken)
    assert denying.try_out(bad).by_policy
