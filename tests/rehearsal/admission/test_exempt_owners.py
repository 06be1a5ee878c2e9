"""An exempt object gets its pods, which have names of their own; nobody else gets such pods."""

import pytest

from tests.support.admission.objects import KINDS, Object, gpus, pod, template, volcano
from tests.support.admission.server import ADMITTED, NAMESPACE, Server
from tests.support.admission.verdicts import canary, deny

QOS = next(rule for rule in ADMITTED if rule.id == "numa/guaranteed-qos")
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
CONTROLLER = "system:serviceaccount:kube-system:{}-controller"
BAD = template(gpus(cpu="7.5"))
EXEMPT = ("Deployment", "StatefulSet", "Job")


def leave(kind: str) -> dict[str, object]:
    where = {"resource": f"{kind}/gang", "namespace": NAMESPACE}
    return {**where, "owner": "desk", "reason": "old", "until": "2099-12-31"}


def gang(kind: str) -> Object:
    found = KINDS[kind](BAD)
    return {**found, "metadata": {**found["metadata"], "name": "gang"}}


@pytest.fixture(scope="module")
def denying(server: Server) -> Server:
    """The server with exemptions for some objects, of which it knows already."""
    deny(server, [QOS], exemptions=[leave(kind) for kind in (*EXEMPT, "CronJob")])
    server.wait_for("the exemptions", lambda: server.try_out(gang("Deployment")).taken)
    return server


@pytest.mark.parametrize("kind", EXEMPT)
def test_the_pods_of_an_exempt_owner_are_admitted(denying: Server, kind: str) -> None:
    before = {each["metadata"]["uid"] for each in (denying.api.get(PODS) or {})["items"]}
    denying.made(gang(kind))

    def made() -> bool:
        found = (denying.api.get(PODS) or {})["items"]
        return any(each["metadata"]["uid"] not in before for each in found)

    denying.wait_for("its pods", made)
    place = denying.place(gang(kind))
    assert denying.ask("DELETE", place, propagationPolicy="Foreground").taken
    denying.wait_for("its end", lambda: denying.gone(gang(kind)))


@pytest.mark.parametrize(
    ("kind", "owner", "taken"),  # in requests of the controller of that kind
    [
        ("Job", "gang-29384", True),  # of the CronJob
        ("ReplicaSet", "gang-5d4f8", True),
        ("ReplicaSet", "gang-other-5d4f8", False),
        ("ReplicaSet", "gang", False),
        ("DaemonSet", "gang", False),
    ],
)
def test_only_what_an_exempt_object_controls_is_exempt(
    denying: Server, kind: str, owner: str, taken: bool
) -> None:
    reference = {"kind": kind, "name": owner, "uid": "1", "controller": True}
    bad = pod(gpus(cpu="7.5"))
    bad["metadata"] = {**bad["metadata"], "name": "one", "ownerReferences": [reference]}
    reference["apiVersion"] = "batch/v1" if kind == "Job" else "apps/v1"

    user = CONTROLLER.format({"ReplicaSet": "replicaset", "Job": "job"}.get(kind, "daemon-set"))
    assert denying.try_out(bad, user).taken is taken
    assert denying.try_out(bad).by_policy, "anybody may write an owner"


def test_a_job_of_another_group_is_another(denying: Server) -> None:
    assert denying.try_out(gang("Job")).taken
    other = volcano(BAD)
    assert denying.try_out({**other, "metadata": gang("Job")["metadata"]}).by_policy


def test_others_are_judged_as_before(denying: Server) -> None:
    assert denying.try_out(canary(QOS).manifest).by_policy
