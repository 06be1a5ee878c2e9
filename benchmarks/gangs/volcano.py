"""Volcano as the fleet ships it, in a queue of the rented pool, and in one that spans pools.

A gang is written as the fleet asks for one on rented machines (decision 0005). In a queue with
`pools` fleet-gang-buffer asks for the machines; it needs Karpenter's CapacityBuffers.
"""

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import pulumi

from benchmarks.gangs.ground import Ground
from benchmarks.gangs.scenarios import QUEUES, Gang
from benchmarks.gangs.scheduler import WHOLE, Scheduler, template
from components.platform.gang_buffer import GangBuffer, GangBufferArgs
from components.platform.pool_domains import PoolDomains, PoolDomainsArgs
from components.platform.queue_entry import QueueEntry, QueueEntryArgs
from components.platform.teams import Teams, TeamsArgs
from components.platform.volcano import Volcano, VolcanoArgs
from rehearsal.controllers.ours import start_ours
from rehearsal.errors import RefusedError
from rehearsal.providers.cloud import Cloud
from rehearsal.providers.kubernetes.provider import KubernetesProvider
from rehearsal.providers.values import Secret
from rehearsal.twin import controller_programs
from settings import Queue, Team
from tests.support.recorder import plain, render
from tests.support.rehearsal.provider_engine import engine
from toolchain.build import versions

OPEN_WITHIN_S = 60.0
OWNED, POOL = "dgx", "burst"
GPUS = 8 * max(QUEUES.values())
API = "/apis/scheduling.volcano.sh/v1beta1/queues"


def _program() -> None:
    queues = {
        name: Queue(weight=1, gpus=8 * machines, pool=POOL) for name, machines in QUEUES.items()
    }
    volcano = VolcanoArgs(pools=dict.fromkeys(QUEUES, POOL))
    _fleet(volcano, queues, gpus={POOL: GPUS})


def _spanning_program() -> None:
    pools = (OWNED, POOL)
    queues = {
        name: Queue(weight=1, gpus=8 * machines, pools=pools) for name, machines in QUEUES.items()
    }
    volcano = VolcanoArgs(pools={}, spans=dict.fromkeys(QUEUES, pools))
    crds = _fleet(volcano, queues, gpus=dict.fromkeys(pools, GPUS))
    args = GangBufferArgs(queues=queues, machines={POOL: WHOLE}, crds=crds)
    GangBuffer("gang-buffer", args)


def _fleet(
    volcano: VolcanoArgs, queues: Mapping[str, Queue], *, gpus: Mapping[str, int]
) -> pulumi.Resource:
    """Registers Volcano, its queues and pools; returns what brings Volcano's kinds."""
    crds = Volcano("volcano", volcano).release
    PoolDomains("pools", PoolDomainsArgs(pools=[*gpus], crds=crds))
    teams = {"research": Team(cost_centre="4100", queues=dict(queues))}
    made = Teams("teams", TeamsArgs(teams=teams, pools=gpus, rented=frozenset({POOL}), crds=crds))
    QueueEntry("queue-entry", QueueEntryArgs(queues=queues, teams=made))
    return crds


def _install(ground: Ground, program: Callable[[], None] = _program) -> None:
    programs = controller_programs(ground.tools)
    provider = KubernetesProvider(
        cloud=Cloud(ground.directory), crds=ground.tools.crds, programs=programs
    )
    asks = engine(provider, ground.directory)
    asks.configure({"kubeconfig": Secret(ground.kubeconfig.read_text())})
    for each in render(program):
        if each.custom and each.type.startswith("kubernetes:"):
            inputs = json.loads(json.dumps(plain(each.inputs)), parse_float=_number)
            asks.created(each.type, inputs, each.name)
    start_ours(ground.place)
    deadline = time.monotonic() + OPEN_WITHIN_S
    while not all(_is_open(ground, queue) for queue in QUEUES):
        if time.monotonic() > deadline:
            raise RefusedError(f"Volcano has not opened its queues in {OPEN_WITHIN_S:.0f} s.")
        ground.api.pause(0.2)


def _is_open(ground: Ground, queue: str) -> bool:
    found = ground.api.get(f"{API}/{queue}") or {}
    return bool(found.get("status", {}).get("state") == "Open")


def _number(text: str) -> int:
    """A whole number, which the recorder has as a float."""
    return int(float(text))


def _install_spanning(ground: Ground) -> None:
    ground.karpenter["featureGates"] = {"capacityBuffer": True}
    _install(ground, _spanning_program)


def _job(gang: Gang) -> dict[str, Any]:
    topology = {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}
    return _written(gang, template(gang), **topology)


def _spanning_job(gang: Gang) -> dict[str, Any]:
    return _written(gang, template(gang))


def _written(gang: Gang, pods: Mapping[str, Any], **spec: object) -> dict[str, Any]:
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": gang.name, "namespace": gang.queue},
        "spec": {
            "queue": gang.queue,
            "minAvailable": gang.members,
            "policies": [{"event": "PodEvicted", "action": "RestartJob"}],
            "maxRetry": 100,
            "tasks": [{"name": "rank", "replicas": gang.members, "template": pods}],
            **spec,
        },
    }


VOLCANO = Scheduler(
    name="volcano",
    title=f"Volcano {versions['volcano']}",
    control_plane="control-plane",
    settings=("as the fleet ships it: decision 0005",),
    written="Job of Volcano with hard network topology in a queue of the rented pool, RestartJob",
    jobs="batch.volcano.sh/v1alpha1/jobs",
    install=_install,
    job=_job,
)
VOLCANO_BUFFER = Scheduler(
    name="volcano-buffer",
    title=f"Volcano {versions['volcano']} with fleet-gang-buffer",
    control_plane="control-plane",
    settings=(
        "as the fleet ships it for a queue with `pools`: decision 0005",
        "Karpenter's gate CapacityBuffer",
    ),
    written="Job of Volcano in a queue with the owned and the rented pool, RestartJob",
    jobs="batch.volcano.sh/v1alpha1/jobs",
    install=_install_spanning,
    job=_spanning_job,
)
