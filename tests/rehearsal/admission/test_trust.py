"""Whose word the API server takes: controllers', and nobody else's."""

from collections.abc import Iterator

import pytest

from policies.configuration import RuleSettings, configure
from policies.gates.admission import manifests
from policies.language.facts import KEY
from policies.language.owners import CONTROLLERS
from tests.rehearsal.admission.cases_trust import OWNERS, endless, owned
from tests.support.admission.objects import KINDS, Object, gpus, made, pod, template
from tests.support.admission.server import ADMITTED, NAMESPACE, Server, custom_kind
from tests.support.admission.verdicts import TODAY, configured, planned

QOS, DEADLINE = (
    next(rule for rule in ADMITTED if rule.id == rule_id)
    for rule_id in ("numa/guaranteed-qos", "idle/job-deadline")
)
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
REPLICA_SETS = "system:serviceaccount:kube-system:replicaset-controller"
STRANGER = "system:serviceaccount:research:default"
OPERATOR = "system:serviceaccount:jobs:operator"
OTHER = "other"
LABELLED = "sandbox"
BAD = pod(gpus(cpu="7.5"))
SET = OWNERS[1]


def leave(resource: str, **where: str) -> dict[str, str]:
    return {"resource": resource, "owner": "desk", "reason": "old", "until": "2099-12-31", **where}


def named(found: Object, name: str, namespace: str = NAMESPACE) -> Object:
    return {**found, "metadata": {**found["metadata"], "name": name, "namespace": namespace}}


@pytest.fixture(scope="module")
def denying(server: Server) -> Iterator[Server]:
    """The server with both rules, with some exemptions, and with two more namespaces."""
    for name, labels in ((OTHER, {}), (LABELLED, {"fleet.gpu/stage": "sandbox"})):
        made: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        made["metadata"]["labels"] = labels
        server.made(made)
    exempt = [
        leave("Deployment/legacy", namespace=NAMESPACE),
        leave("*", namespace_label="fleet.gpu/stage=sandbox"),
    ]
    server.remove_policies()
    both = configured([QOS], exemptions=exempt) + configured([DEADLINE])
    server.install(manifests(both, stage="deny", today=TODAY))
    server.wait_for("a rule", lambda: server.try_out(endless()).by_policy)
    server.wait_for("the other", lambda: server.try_out(BAD).by_policy)
    yield server
    for name in (OTHER, LABELLED):
        server.ask("DELETE", f"/api/v1/namespaces/{name}")


def test_the_owner_of_a_pod_counts_where_a_controller_makes_it(denying: Server) -> None:
    of_set = owned(SET, endless())

    assert denying.try_out(user=REPLICA_SETS, manifest=of_set).taken
    assert denying.try_out(user=STRANGER, manifest=of_set).by_policy
    assert denying.try_out(user=OPERATOR, manifest=of_set).by_policy, "nobody has listed it"


def test_a_controller_is_not_believed_on_an_owner_that_no_rule_has_judged(denying: Server) -> None:
    of_map, of_spark = owned(OWNERS[0], endless()), owned(OWNERS[-1], endless())

    assert denying.try_out(user=REPLICA_SETS, manifest=of_map).by_policy
    assert denying.try_out(user=REPLICA_SETS, manifest=of_spark).by_policy


MAKERS = ("pods", "replicasets", "jobs")
"""What Kubernetes' own controllers make pods of, or are."""


def test_those_are_believed_whom_the_api_server_lets_make_pods(server: Server) -> None:
    """All but the one that recycles volumes, whose pods nobody owns."""
    roles = server.api.get("/apis/rbac.authorization.k8s.io/v1/clusterroles") or {}
    makers = {
        role["metadata"]["name"].removeprefix("system:controller:")
        for role in roles["items"]
        for rule in role["rules"] or ()
        if role["metadata"]["name"].startswith("system:controller:")
        and "create" in rule["verbs"]
        and any(each in MAKERS for each in rule.get("resources", ()))
    }

    own = "system:serviceaccount:kube-system:"
    believed = {each.removeprefix(own) for each in CONTROLLERS if each.startswith(own)}
    assert makers - believed == {"persistent-volume-binder"}
    assert believed <= makers


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "ReplicaSet"])
def test_kubernetes_own_controllers_are_believed(denying: Server, kind: str) -> None:
    """A service needs no end, and neither do the pods that its controller makes of it."""
    found = template(gpus())
    del found["metadata"]["annotations"]
    service = named(KINDS[kind](found), f"s-{kind.lower()}")
    denying.made(service)

    def runs() -> bool:
        pods = (denying.api.get(PODS) or {})["items"]
        return any(each["metadata"]["name"].startswith(f"s-{kind.lower()}") for each in pods)

    denying.wait_for("its pods", runs)
    assert denying.ask("DELETE", denying.place(service), propagationPolicy="Foreground").taken
    denying.wait_for("its end", lambda: denying.gone(service))


def test_an_exemption_holds_in_its_namespace_and_for_what_a_controller_makes(
    denying: Server,
) -> None:
    legacy = named(KINDS["Deployment"](template(gpus(cpu="7.5"))), "legacy")
    of_legacy = owned(("apps/v1", "ReplicaSet", "legacy-5d4f8"), BAD)

    assert denying.try_out(legacy).taken
    assert denying.try_out(named(legacy, "legacy", OTHER)).by_policy
    assert denying.try_out(named(legacy, "legacy-evil")).by_policy
    assert denying.try_out(user=REPLICA_SETS, manifest=of_legacy).taken
    assert denying.try_out(user=STRANGER, manifest=of_legacy).by_policy
    assert denying.try_out(user=REPLICA_SETS, manifest=named(of_legacy, "p", OTHER)).by_policy


def test_an_exemption_by_a_label_holds_in_the_namespaces_that_have_it(denying: Server) -> None:
    # the rule on deadlines holds there as everywhere
    assert denying.try_out(named(BAD, "p", LABELLED)).taken
    assert denying.try_out(named(BAD, "p", OTHER)).by_policy
    assert denying.try_out(named(endless(), "p", LABELLED)).by_policy


def test_an_owner_that_comes_later_ends_no_deadline(denying: Server) -> None:
    mine = named(pod(gpus()), "mine")
    denying.made(mine)
    place = denying.place(mine)
    reference = {**owned(SET, mine)["metadata"]["ownerReferences"][0], "controller": False}
    owns = {"metadata": {"ownerReferences": [reference]}}
    endless_now = {"metadata": {"annotations": {"fleet.gpu/idle-deadline-minutes": None}}}

    assert denying.ask("PATCH", place, owns, dryRun="All").taken
    at_once = {"metadata": {**owns["metadata"], **endless_now["metadata"]}}
    assert denying.ask("PATCH", place, at_once).by_policy
    assert denying.ask("PATCH", place, endless_now).by_policy
    assert denying.ask("DELETE", place, gracePeriodSeconds="0").taken


def test_a_listed_operator_is_believed(denying: Server) -> None:
    said: RuleSettings = {KEY: {"controllers": [OPERATOR]}, DEADLINE.id: {"level": "mandatory"}}
    rules = configure(said, [DEADLINE])
    denying.install(manifests(rules, stage="deny", today=TODAY))
    of_job = owned(("kubeflow.org/v1", "PyTorchJob", "train"), endless())

    denying.wait_for("its word", lambda: denying.try_out(user=OPERATOR, manifest=of_job).taken)
    assert denying.try_out(user=STRANGER, manifest=of_job).by_policy


TRAINING = {
    "group": "jobs.example.com",
    "resource": "trainings",
    "kind": "Training",
    "templates": ["spec.parts[].roles[].template"],
}


def test_a_kind_of_ones_own_is_judged_where_it_is_listed(denying: Server) -> None:
    crd = custom_kind("jobs.example.com", "v1", "Training")
    denying.install([crd])
    said: RuleSettings = {KEY: {"kinds": [TRAINING]}, QOS.id: {"level": "mandatory"}}
    denying.install(manifests(configure(said, [QOS]), stage="deny", today=TODAY))

    def training(cpu: str) -> Object:
        roles = [{"name": "worker", "template": template(gpus(cpu=cpu))}]
        return made("jobs.example.com/v1", "Training", {"parts": [{"roles": roles}]})

    denying.wait_for("its kind", lambda: denying.served(denying.place(crd)))
    denying.wait_for("the rule", lambda: denying.try_out(training("7.5")).by_policy)
    answer = denying.try_out(training("7.5"))
    assert "Training 'train', 'parts[0].worker': container 'main'" in answer.message
    assert planned(training("7.5"))[QOS.id][0] in answer.message
    assert denying.try_out(training("8")).taken


def test_a_rule_only_warns_in_the_namespaces_that_say_so(denying: Server) -> None:
    rules = configured([QOS], advisory_in=[OTHER])
    denying.install(manifests(rules, stage="deny", today=TODAY))

    elsewhere = named(BAD, "p", OTHER)
    denying.wait_for("the warning", lambda: QOS.id in denying.try_out(elsewhere).rules())
    assert denying.try_out(elsewhere).taken
    assert denying.try_out(BAD).by_policy
    assert QOS.id not in denying.try_out(BAD).rules()
