"""A Queue of the environment and the PodGroups in it are judged when somebody changes them, too."""

from collections.abc import Iterator

import pytest

from policies.rules.idle import gang_fits, queue_size
from tests.support.admission.objects import GPU, KINDS, Object, gpus, made, template
from tests.support.admission.server import Answer, Server
from tests.support.admission.verdicts import deny

QUEUE = made("scheduling.volcano.sh/v1beta1", "Queue", {"weight": 4, "capability": {GPU: "16"}})
QUEUE["metadata"] = {"name": "research"}
GROUP = made("scheduling.volcano.sh/v1beta1", "PodGroup", {"minMember": 1}, namespace="research")


@pytest.fixture(scope="module")
def denying(server: Server) -> Iterator[Server]:
    deny(server, [gang_fits.RULE, queue_size.RULE])
    for each in (QUEUE, GROUP, served(2)):
        server.made(each)
    yield server
    for each in (served(2), GROUP, QUEUE):
        server.ask("DELETE", server.place(each))


TRAINERS = "trainers"
PROGRAM = "pulumi-kubernetes-1f2e3d4c"
RBAC = "rbac.authorization.k8s.io/v1"


@pytest.fixture
def trainers(denying: Server) -> Iterator[Server]:
    """The server with a group who may change queues, and nothing else."""
    allowed = {"apiGroups": ["scheduling.volcano.sh"], "resources": ["queues"], "verbs": ["patch"]}
    role: Object = {"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": TRAINERS}}
    bound: Object = {**role, "kind": "ClusterRoleBinding"}
    bound["roleRef"] = {"apiGroup": RBAC.partition("/")[0], "kind": "ClusterRole", "name": TRAINERS}
    bound["subjects"] = [{**bound["roleRef"], "kind": "Group"}]
    made = [{**role, "rules": [allowed]}, bound]
    for each in made:
        denying.made(each)
    denying.wait_for(
        "the trainers' rights",
        lambda: changed(denying, QUEUE, group=TRAINERS, capability={GPU: "8"}).taken,
    )
    yield denying
    for each in made:
        denying.ask("DELETE", denying.place(each))


def served(replicas: int) -> Object:
    found = KINDS["Deployment"](template(gpus(8), schedulerName="volcano"))
    found["metadata"]["namespace"] = "research"
    found["spec"]["replicas"] = replicas
    return found


def changed(
    server: Server, manifest: Object, by: str = "kubectl-edit", group: str = "", **spec: object
) -> Answer:
    who = {"user": "somebody", "group": group} if group else {}
    place = server.place(manifest)
    return server.ask("PATCH", place, {"spec": spec}, **who, dryRun="All", fieldManager=by)


@pytest.mark.parametrize(
    "spec",
    [
        {"capability": {GPU: "512"}},
        {"capability": None},
        {"weight": 60000},
        {"deserved": {GPU: "17"}},
        {"guarantee": {"resource": {GPU: "8"}}},
        {"priority": 1},
    ],
)
def test_nobody_gives_a_queue_more_than_its_settings_by_hand(denying: Server, spec: Object) -> None:
    answer = changed(denying, QUEUE, **spec)

    assert answer.by_policy, answer.message
    assert "idle/gang-fits: Queue 'research' must" in answer.message


def test_a_smaller_queue_is_taken_and_so_is_what_the_program_writes(denying: Server) -> None:
    assert changed(denying, QUEUE, capability={GPU: "8"}).taken
    assert changed(denying, QUEUE, PROGRAM, capability={GPU: "32"}, weight=8).taken


def test_nobody_is_the_program_by_saying_so(trainers: Server) -> None:
    answer = changed(trainers, QUEUE, PROGRAM, TRAINERS, capability={GPU: "512"})

    assert answer.by_policy, answer.message
    assert "it has 512." in answer.message


def test_a_group_that_grows_must_say_what_it_asks_for_and_fit(denying: Server) -> None:
    assert "for its 64 pods" in changed(denying, GROUP, minMember=64).message
    asked = changed(denying, GROUP, minMember=64, minResources={GPU: "512"})
    assert "it asks for 512 at once." in asked.message
    assert changed(denying, GROUP, minMember=2, minResources={GPU: "16"}).taken


def test_a_service_that_is_written_larger_is_refused(denying: Server) -> None:
    place = denying.place(served(2))
    refused = denying.ask("PATCH", place, {"spec": {"replicas": 500}}, dryRun="All")

    assert "all its pods together ask for 4000." in refused.message
