"""Rules that share a policy: none takes another's verdict with it, and large objects are read."""

from collections.abc import Iterator

import pytest

from policies.configuration import configure
from policies.gates.admission import manifests
from policies.rules import ALL
from tests.support.admission.objects import GPU, Object, gpus, made, pod, template, workflow
from tests.support.admission.objects import volcano as job
from tests.support.admission.server import Server
from tests.support.admission.verdicts import TODAY, planned, warn

VGPU, QOS, QUANTITIES = "numa/vgpu", "numa/guaranteed-qos", "numa/quantities"
DEADLINE = "idle/job-deadline"
BROKEN = {"nodeSelector": {"fleet.gpu/pool": "serve", "fleet.gpu/sharing": "vgpu"}}
TASKS, CONTAINERS, VARIABLES = 60, 2, 20


@pytest.fixture(scope="module")
def auditing(server: Server) -> Server:
    """The server with every rule in a policy that warns."""
    warn(server)
    return server


def test_what_one_rule_cannot_read_the_others_judge_all_the_same(auditing: Server) -> None:
    found = template({**gpus(), "image": 5})
    unreadable = workflow({**found, "metadata": {"labels": found["metadata"]["labels"]}})

    answer = auditing.try_out(unreadable)

    said = [said for policy, said in answer.told if policy == "fleet-idle-warn"]
    assert any("notebooks_fault" in each and "error" in each for each in said)
    assert answer.rules()[DEADLINE] in planned(unreadable)[DEADLINE]


def test_a_quantity_that_nobody_can_read_is_told_once_and_fails_no_rule(auditing: Server) -> None:
    unreadable = workflow(template(gpus("$GPU_PER_NODE"), **BROKEN))

    answer = auditing.try_out(unreadable)

    assert {rule for rule, said in answer.rules().items() if "GPU_PER_NODE" in said} == {QUANTITIES}
    assert answer.rules()[VGPU] in planned(unreadable)[VGPU]
    assert not [said for _, said in answer.told if "error" in said]


def test_every_rule_that_is_broken_is_told_of_in_its_own_words(auditing: Server) -> None:
    bad = pod(gpus(cpu="7.5"), **BROKEN)

    told = auditing.try_out(bad).rules()

    expected = planned(bad)
    assert {VGPU, QOS} <= told.keys()
    assert told.keys() == expected.keys()
    assert all(said in expected[rule] for rule, said in told.items())


def _large() -> Iterator[Object]:
    """As large as the rules can read: a gang of many tasks, and a workflow of many steps."""
    each = gpus(1, "main", **{GPU: 1})
    variables = [{"name": f"OPTION_{n}", "value": f"the value {n}"} for n in range(VARIABLES)]
    words = ["bash", "-c", "torchrun --nproc-per-node=1 -m train " + "--option value " * 20]
    one = template(
        *({**each, "name": f"c{n}", "env": variables, "command": words} for n in range(CONTAINERS)),
        nodeSelector={"fleet.gpu/pool": "dgx"},
        annotations={"fleet.gpu/gpu-memory": "60Gi", "fleet.gpu/cuda": "12.4"},
    )
    tasks = [{"name": f"t{n}", "replicas": 1, "template": one} for n in range(TASKS)]
    gang = job(one)
    yield {**gang, "spec": {**gang["spec"], "tasks": tasks}}
    steps = workflow(one)["spec"]["templates"]
    named = [{**steps[1], "name": f"s{n}"} for n in range(TASKS)]
    yield made("argoproj.io/v1alpha1", "Workflow", {"entrypoint": "s0", "templates": named})


@pytest.mark.parametrize("large", tuple(_large()), ids=lambda found: str(found["kind"]))
def test_a_large_object_is_within_the_cost_that_the_server_allows(
    auditing: Server, large: Object
) -> None:
    answer = auditing.try_out(large)

    assert answer.taken
    assert not [said for _, said in answer.told if "cost" in said and "error" in said]
    assert answer.rules().keys() == planned(large).keys()


def test_an_advisory_rule_warns_beside_those_that_refuse(server: Server) -> None:
    held = [rule for rule in ALL if rule.id in (QOS, VGPU)]
    both, advisory = pod(gpus(cpu="7.5"), **BROKEN), pod(gpus(cpu="7.5"))
    server.remove_policies()

    rules = configure({QOS: {"level": "advisory"}}, held)
    server.install(manifests(rules, stage="deny", today=TODAY))

    server.wait_for("the denial", lambda: server.try_out(both).by_policy)
    server.wait_for("the warning", lambda: QOS in server.try_out(advisory).rules())
    assert server.try_out(advisory).taken
    assert server.try_out(both).message.endswith(planned(both)[VGPU])
