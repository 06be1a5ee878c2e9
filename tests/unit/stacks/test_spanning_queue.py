"""A queue with `pools` brings fleet-gang-buffer and Karpenter's CapacityBuffers; no other does."""

import json
from typing import Any

from tests.support.environments import resources, resources_of
from tests.support.recorder import Registered, named
from tests.support.stack_settings import CONFIG, with_efa

WIDE = {"weight": 1, "gpus": 32, "pools": ["dgx", "burst"]}


def program() -> tuple[Registered, ...]:
    team = {"cost_centre": "4100", "queues": {"wide": WIDE}}
    return resources_of({**CONFIG, "teams": {"research": team}})


def karpenter(made: tuple[Registered, ...]) -> dict[str, Any]:
    (release,) = [each for each in made if each.inputs.get("name") == "karpenter"]
    values: Any = release.inputs["values"]
    return dict(values["settings"])


def test_karpenter_makes_machines_for_buffers_and_the_program_writes_them() -> None:
    made = program()
    assert karpenter(made)["featureGates"] == {"capacityBuffer": True}
    assert "gang-buffer-pod" in named(made, "Deployment")
    (code,) = [each for each in made if each.name == "gang-buffer-program"]
    data: Any = code.inputs["data"]
    burst = json.loads(data["gang-buffer.json"])["machines"]["burst"]
    assert burst["nvidia.com/gpu"] == "8"
    assert int(burst["cpu"]) > 100
    assert burst["memory"].endswith("Mi")


def test_the_buffer_by_which_karpenter_looks_again_comes_after_its_kind() -> None:
    (rounds,) = named(program(), "CapacityBuffer").values()
    before = {urn.rpartition("::")[2] for urn in rounds.depends_on}
    assert "karpenter-controller" in before


def test_a_pod_may_ask_for_the_network_of_a_machine_to_rent() -> None:
    team = {"cost_centre": "4100", "queues": {"wide": WIDE}}
    made = resources_of({**with_efa(), "teams": {"research": team}})
    (code,) = [each for each in made if each.name == "gang-buffer-program"]
    data: Any = code.inputs["data"]
    burst = json.loads(data["gang-buffer.json"])["machines"]["burst"]
    assert int(burst["vpc.amazonaws.com/efa"]) > 0


def test_an_environment_without_such_a_queue_has_neither() -> None:
    made = resources("dev")
    assert "featureGates" not in karpenter(made)
    assert "gang-buffer-pod" not in named(made, "Deployment")
