"""Machines and nodes for tests, with hardware from the catalogue and made-up boots."""

from dataclasses import replace

from hardware.catalogue import load
from ignition.boot.node import BootedNode
from policies.language.inventory import DeployedPool
from rehearsal.machines import Fleet, NodeClass, Refusal
from rehearsal.nodes import ClusterNode, RequestedMachine

GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}


DEV = (
    DeployedPool(
        name="burst",
        kind="aws",
        site="us-east-1",
        hardware="p5e.48xlarge",
        purpose="training",
        machines=(),
        gpu_limits={"reserved": 8, "spot": 8},
        images=("Flatcar-stable-4593.2.5-hvm",),
    ),
    DeployedPool(
        name="cpu",
        kind="hetzner",
        site="hel1",
        hardware="ccx33",
        purpose="batch",
        machines=("cpu-1", "cpu-2", "cpu-3"),
        gpu_limits={},
        images=("4711",),
    ),
    DeployedPool(
        name="dgx",
        kind="bare-metal",
        site="fra",
        hardware="dgx-h200",
        purpose="training",
        machines=("dgx-1", "dgx-2"),
        gpu_limits={},
        images=("https://images.fleet.example/flatcar-4593.2.5.img",),
    ),
)
"""The pools of the environment dev as its resources describe them."""


def booted(name: str, *, hardware: str, pool: str, site: str) -> BootedNode:
    machine = load(hardware)
    capacity = {"cpu": str(machine.cpu_count), "memory": f"{machine.memory_gib}Gi", "pods": "110"}
    if machine.gpu_count:
        capacity |= {"nvidia.com/gpu": str(machine.gpu_count), "hugepages-1Gi": "128Gi"}
    return BootedNode(
        hostname=name,
        labels={"fleet.gpu/site": site, "fleet.gpu/pool": pool, "fleet.gpu/hardware": hardware},
        taints=(GPU_TAINT,) if machine.gpu_count else (),
        capacity=capacity,
        allocatable={**capacity, "cpu": str(machine.cpu_count - 2)},
        housekeeping_cpus="0-1",
        workload_cpus=f"2-{machine.cpu_count - 1}",
        hugepages={"hugepages-1Gi": (64, 64)} if machine.gpu_count else {},
        kubelet={},
        decided_by_ignition=("labels", "taints", "huge pages"),
    )


def node(name: str, *, hardware: str, pool: str, site: str) -> ClusterNode:
    return ClusterNode(
        machine=RequestedMachine(
            name=name,
            pool=pool,
            site=site,
            hardware=hardware,
            ignition="{}",
            provider_id=f"metal3://{name}",
        ),
        hardware=load(hardware),
        booted=booted(name, hardware=hardware, pool=pool, site=site),
    )


def dev() -> Fleet:
    """The machines of the environment dev, all of them up."""
    dgx = [node(f"dgx-{n}", hardware="dgx-h200", pool="dgx", site="fra") for n in (1, 2)]
    cpu = [node(f"cpu-{n}", hardware="ccx33", pool="cpu", site="hel1") for n in (1, 2, 3)]
    hardware = load("p5e.48xlarge")
    burst = NodeClass(name="burst", pool="burst", site="us-east-1", hardware=hardware)
    return Fleet(pools=DEV, nodes=(*dgx, *cpu), node_classes=(burst,), refusals=())


def dev_without(name: str, *reasons: str) -> Fleet:
    """The same, one machine of it out."""
    fleet = dev()
    out = next(node for node in fleet.nodes if node.machine.name == name)
    return replace(
        fleet,
        nodes=tuple(node for node in fleet.nodes if node != out),
        refusals=(Refusal(name=name, pool=out.machine.pool, reasons=reasons),),
    )
