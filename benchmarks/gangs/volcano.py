"""Volcano as the fleet ships it: its chart, its queues and the HyperNode of the rented pool.

A gang is written as the fleet asks for one on rented machines (decision 0005).
"""

import json
import time
from typing import Any

from benchmarks.gangs.ground import Ground
from benchmarks.gangs.scenarios import QUEUES, Gang
from benchmarks.gangs.scheduler import Scheduler, template
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
POOL = "burst"
API = "/apis/scheduling.volcano.sh/v1beta1/queues"


def _program() -> None:
    crds = Volcano("volcano", VolcanoArgs(pools=dict.fromkeys(QUEUES, POOL))).release
    PoolDomains("pools", PoolDomainsArgs(pools=[POOL], crds=crds))
    queues = {
        name: Queue(weight=1, gpus=8 * machines, pool=POOL) for name, machines in QUEUES.items()
    }
    teams = {"research": Team(cost_centre="4100", queues=queues)}
    pools, rented = {POOL: 8 * max(QUEUES.values())}, frozenset({POOL})
    made = Teams("teams", TeamsArgs(teams=teams, pools=pools, rented=rented, crds=crds))
    QueueEntry("queue-entry", QueueEntryArgs(queues=QUEUES, teams=made))


def _install(ground: Ground) -> None:
    programs = controller_programs(ground.tools)
    provider = KubernetesProvider(
        cloud=Cloud(ground.directory), crds=ground.tools.crds, programs=programs
    )
    asks = engine(provider, ground.directory)
    asks.configure({"kubeconfig": Secret(ground.kubeconfig.read_text())})
    for each in render(_program):
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


def _job(gang: Gang) -> dict[str, Any]:
    task = {"name": "rank", "replicas": gang.members, "template": template(gang)}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": gang.name, "namespace": gang.queue},
        "spec": {
            "queue": gang.queue,
            "minAvailable": gang.members,
            "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
            "policies": [{"event": "PodEvicted", "action": "RestartJob"}],
            "maxRetry": 100,
            "tasks": [task],
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
