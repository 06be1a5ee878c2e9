"""Times the boot data of a thousand nodes: rendered and booted in one process, against Butane.

The nodes take turns through the catalogue's machines, each with a pool and a name of its own, so
that no cached result is counted as another node. Blocks of nodes take turns with as many calls of
Butane, because a process that starts between two nodes would leave cold caches for the second.
"""

import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import cycle, islice, product

from benchmarks.results import Block, Nodes
from hardware.catalogue import Hardware, load, names
from ignition.boot.node import BootedNode, boot
from ignition.plan.numa_plan import NumaPlan, plan
from ignition.plan.tuning import PURPOSES, Purpose, Tuning
from ignition.write.render import (
    Join,
    NodeBoot,
    Taint,
    data_url,
    join_ignition,
    tuning_butane,
    tuning_ignition,
    with_merge,
)
from toolchain.build import Tools

NODES = 1000
BLOCKS = 8
BLOCK = 10
PLANS = 100
_FABRIC_MANAGER = "https://images.fleet.example/nvidia-fabricmanager-570.195.03-x86-64.raw"
_TUNING = Tuning(housekeeping_cores_per_numa_node=2, hugepages_2mi_per_numa_node=512)


def measure(tools: Tools) -> Nodes:
    """Time planning, then all nodes, then blocks of them in turns with Butane."""
    planned = {
        (name, purpose): plan(load(name), _TUNING, purpose)
        for name, purpose in product(names(), PURPOSES)
    }
    plans_s = [
        _timed(partial(plan, hardware, _TUNING, "training"))
        for hardware in islice(cycle([load(name) for name in names()]), PLANS)
    ]
    nodes = list(_nodes(planned, NODES))
    started = time.perf_counter()
    for number, node in enumerate(nodes):
        _boot(node, number)
    total_s = time.perf_counter() - started
    program = str(tools.path("butane-check"))
    firsts = range(0, BLOCKS * BLOCK, BLOCK)
    blocks = [_block(nodes[first : first + BLOCK], program) for first in firsts]
    return Nodes(count=len(nodes), total_s=total_s, plans_s=plans_s, blocks=blocks)


def _block(nodes: Sequence[NodeBoot], program: str) -> Block:
    """Return the mean seconds of a node: as Ignition, as Ignition by Butane, and booted."""

    def one(work: Callable[[NodeBoot], object]) -> float:
        return sum(_timed(partial(work, node)) for node in nodes) / len(nodes)

    return Block(
        ignition_s=one(tuning_ignition),
        butane_s=one(partial(_butane, program)),
        booted_s=one(partial(_boot, number=0)),
    )


def _nodes(planned: dict[tuple[str, Purpose], NumaPlan], count: int) -> Iterator[NodeBoot]:
    for number, ((name, purpose), each) in enumerate(islice(cycle(planned.items()), count)):
        yield _node(load(name), purpose, each, pool=f"pool-{number}")


def owned_machine(hardware: Hardware, *, pool: str) -> BootedNode:
    """Return what a machine of one's own for training becomes."""
    node = _node(hardware, "training", plan(hardware, _TUNING, "training"), pool=pool)
    return _boot(node, 0)


def _node(hardware: Hardware, purpose: Purpose, planned: NumaPlan, *, pool: str) -> NodeBoot:
    gpu = bool(hardware.gpus)
    taints = [Taint(key="nvidia.com/gpu", value="present", effect="NoSchedule")] if gpu else []
    if hardware.kind == "aws":
        taints.append(Taint(key="karpenter.sh/unregistered", value="", effect="NoExecute"))
    return NodeBoot(
        hardware=hardware,
        plan=planned,
        labels={
            "fleet.gpu/site": "here",
            "fleet.gpu/pool": pool,
            "fleet.gpu/hardware": hardware.name,
            "fleet.gpu/purpose": purpose,
            "fleet.gpu/numa-plan": planned.digest,
        },
        taints=tuple(taints),
        kubernetes_version="1.36.3",
        nvidia_driver="570-open" if gpu else None,
        nvidia_runtime="v1.18.1" if gpu else None,
        fabric_manager=_FABRIC_MANAGER if hardware.nvswitch else None,
    )


def _boot(node: NodeBoot, number: int) -> BootedNode:
    """Render both parts and boot them; raises RuntimeError where the node does not come up."""
    join = Join(
        api_server_endpoint="api.fleet.example:6443",
        token="abcdef.0123456789abcdef",  # noqa: S106  # opens nothing
        ca_cert_hash=f"sha256:{'0' * 64}",
        hostname=f"node-{number}",
    )
    text = with_merge(tuning_ignition(node), data_url(join_ignition(join)))
    found = boot(text, node.hardware)
    if found.problems or found.node is None:
        raise RuntimeError(f"{node.hardware.name} does not come up: {' '.join(found.problems)}")
    return found.node


def _butane(program: str, node: NodeBoot) -> None:
    """Call Butane as a process, the usual way to render a node with it."""
    command, source = [program, "butane"], tuning_butane(node)
    subprocess.run(command, input=source, check=True, capture_output=True, text=True)


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
