"""The program beside Volcano that asks for the machines of gangs, and what it may do."""

import json
from typing import Any

from components.platform.gang_buffer import GangBuffer, GangBufferArgs
from components.platform.volcano import Volcano, VolcanoArgs
from settings import Queue
from tests.support.recorder import named, render

QUEUES = {
    "both": Queue(weight=1, gpus=64, pools=("dgx", "burst"), give_back_after_minutes=20),
    "owned": Queue(weight=1, gpus=64, pool="dgx"),
}
MACHINES = {"burst": {"cpu": "176", "memory": "1900Gi", "nvidia.com/gpu": "8"}}


def program() -> None:
    release = Volcano("volcano", VolcanoArgs(pools={"owned": "dgx"}, spans={"both": ("dgx",)}))
    args = GangBufferArgs(queues=QUEUES, machines=MACHINES, crds=release.release)
    GangBuffer("gang-buffer", args)


def test_it_is_told_the_queues_with_pools_and_all_namespaces_whose_pods_hold_gpus() -> None:
    (code,) = named(render(program), "ConfigMap").values()
    data: Any = code.inputs["data"]
    told = json.loads(data["gang-buffer.json"])
    assert told["queues"] == {"both": {"pools": ["dgx", "burst"], "give_back_after_minutes": 20}}
    assert told["spaces"] == ["both", "owned"]
    assert told["machines"] == MACHINES
    assert told["daemons"] == {"memory": "512Mi"}


def test_it_writes_in_the_namespaces_of_those_queues_alone() -> None:
    roles = named(render(program), "Role")
    writes = {
        name
        for name, role in roles.items()
        if any({"create", "patch", "delete"} & set(rule["verbs"]) for rule in rules(role.inputs))
    }
    assert writes == {"gang-buffer-both"}
    (everywhere,) = named(render(program), "ClusterRole").values()
    assert {verb for rule in rules(everywhere.inputs) for verb in rule["verbs"]} == {"list"}


def rules(role: Any) -> list[dict[str, Any]]:
    return list(role["rules"])


def test_it_may_delete_no_machine_and_no_pod() -> None:
    role = named(render(program), "Role")["gang-buffer-both"]
    deleted = [rule["resources"] for rule in rules(role.inputs) if "delete" in rule["verbs"]]
    assert deleted == [["podtemplates"], ["capacitybuffers"]]


def test_a_buffer_of_no_pods_is_always_there() -> None:
    """By it Karpenter forgets where the pods of buffers were that are gone."""
    (rounds,) = named(render(program), "CapacityBuffer").values()
    spec: Any = rounds.inputs["spec"]
    assert spec["replicas"] == 0
    (pod,) = named(render(program), "Deployment").values()
    there: Any = pod.inputs["metadata"]
    assert spec["scalableRef"]["name"] == there["name"]
