"""Controllers write the spec of what they made: with a rule that came later they must go on."""

import pytest

from tests.support.admission.objects import KINDS, Object, gpus, template
from tests.support.admission.server import ADMITTED, NAMESPACE, Server
from tests.support.admission.verdicts import deny

QOS = next(rule for rule in ADMITTED if rule.id == "numa/guaranteed-qos")
SETS = f"/apis/apps/v1/namespaces/{NAMESPACE}/replicasets"


def deployment(cpu: str) -> Object:
    found = KINDS["Deployment"](template(gpus(cpu=cpu)))
    found["spec"].update(replicas=2, strategy={"type": "Recreate"})
    return found


def sizes(server: Server) -> list[int]:
    """How many pods each ReplicaSet is to have."""
    return sorted(each["spec"]["replicas"] for each in (server.api.get(SETS) or {})["items"])


@pytest.fixture(scope="module")
def denying(server: Server) -> Server:
    server.made(deployment("7.5"))
    server.wait_for("its ReplicaSet", lambda: sizes(server) == [2])
    deny(server, [QOS])
    return server


def test_a_deployment_from_before_the_rule_shrinks_and_rolls_out_what_is_mended(
    denying: Server,
) -> None:
    place = denying.place(deployment("8"))

    assert denying.ask("PATCH", f"{place}/scale", {"spec": {"replicas": 1}}).taken
    denying.wait_for("fewer pods", lambda: sizes(denying) == [1])
    assert denying.ask("PATCH", place, {"spec": deployment("8")["spec"]}).taken
    denying.wait_for("the ReplicaSet of the mended template", lambda: sizes(denying) == [0, 2])
    assert denying.ask("DELETE", place, propagationPolicy="Foreground").taken


def test_a_replica_set_that_is_changed_otherwise_is_judged(denying: Server) -> None:
    bad = KINDS["ReplicaSet"](template(gpus(cpu="7.5")))
    good = KINDS["ReplicaSet"](template(gpus(cpu="8")))
    denying.made(good)

    assert denying.try_out({**bad, "metadata": {"name": "other"}}).by_policy
    assert denying.ask("PATCH", denying.place(good), {"spec": bad["spec"]}).by_policy
    assert denying.ask("DELETE", denying.place(good)).taken
