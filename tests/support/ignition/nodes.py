"""Nodes of the catalogue as pools make them, for the tests of this folder and of conformance."""

from collections.abc import Iterator
from dataclasses import replace

from hardware.catalogue import Hardware, load, names
from ignition.plan.numa_plan import plan
from ignition.plan.tuning import PURPOSES, Purpose, Tuning
from ignition.write.render import Join, NodeBoot, Taint, data_url, join_ignition, with_merge
from ignition.write.render import tuning_ignition as render_ignition

FABRIC_MANAGER = "https://images.fleet.example/sysext/nvidia-fabricmanager-570.195.03-x86-64.raw"
OWN_DRIVER = (
    "https://images.fleet.example/sysext/"
    "flatcar-nvidia-drivers-580-open-580.95.05-flatcar-4593.2.5.raw"
)
EFA = "https://images.fleet.example/sysext/efa-4593.2.5-x86-64.raw"
OWN_FABRIC_MANAGER = FABRIC_MANAGER.replace("570.195.03", "580.95.05")
TOKEN = "abcdef.0123456789abcdef"
GPU = Taint(key="nvidia.com/gpu", value="present", effect="NoSchedule")
UNREGISTERED = Taint(key="karpenter.sh/unregistered", value="", effect="NoExecute")
PURPOSE_OF: dict[str, Purpose] = {
    "ccx33": "batch",
    "dgx-h200": "training",
    "p5e.48xlarge": "training",
    "p5en.48xlarge": "inference",
}
TUNING_OF = {
    "ccx33": Tuning(housekeeping_cores_per_numa_node=1),
    "dgx-h200": Tuning(housekeeping_cores_per_numa_node=4, hugepages_1gi_per_numa_node=32),
    "p5e.48xlarge": Tuning(hugepages_1gi_per_numa_node=16, hugepages_2mi_per_numa_node=2564),
    "p5en.48xlarge": Tuning(),
}


def node(name: str, *, tuning: Tuning | None = None, purpose: Purpose | None = None) -> NodeBoot:
    """A node of a machine, with the choices that its environment would make."""
    hardware = load(name)
    purpose = purpose or PURPOSE_OF[name]
    planned = plan(hardware, tuning or TUNING_OF[name], purpose)
    gpu = bool(hardware.gpus)
    taints = (GPU,) if gpu else ()
    return NodeBoot(
        hardware=hardware,
        plan=planned,
        labels={
            "fleet.gpu/site": "here",
            "fleet.gpu/pool": "pool",
            "fleet.gpu/hardware": name,
            "fleet.gpu/purpose": purpose,
            "fleet.gpu/numa-plan": planned.digest,
        },
        taints=(*taints, UNREGISTERED) if hardware.kind == "aws" else taints,
        kubernetes_version="1.36.3",
        nvidia_driver="570-open" if gpu else None,
        nvidia_runtime="v1.18.1" if gpu else None,
        fabric_manager=FABRIC_MANAGER if hardware.nvswitch else None,
    )


def join(hostname: str | None = "node-01") -> Join:
    """What a node joins with, by a token that opens nothing."""
    return Join(
        api_server_endpoint="api.fleet.example:6443",
        token=TOKEN,
        ca_cert_hash=f"sha256:{'0' * 64}",
        hostname=hostname,
    )


def user_data(of: NodeBoot) -> str:
    """The whole boot data of a node, its secret part merged."""
    return with_merge(render_ignition(of), data_url(join_ignition(join())))


def beside_the_plan() -> Iterator[tuple[str, NodeBoot]]:
    """What a pool or its environment chooses beside the plan: the network of rails, drivers."""
    dgx = replace(node("dgx-h200"), flatcar="4593.2.5")
    yield "DGX with InfiniBand", replace(dgx, fabric="infiniband")
    yield "DGX with RoCE", replace(dgx, fabric="roce")
    own = replace(dgx, nvidia_driver="580-open", fabric_manager=OWN_FABRIC_MANAGER)
    yield "DGX with a driver of its own", replace(own, driver_extension=OWN_DRIVER)
    yield "AWS with EFA", replace(node("p5e.48xlarge"), flatcar="4593.2.5", efa=EFA)


def every_choice() -> Iterator[tuple[str, NodeBoot]]:
    """Each machine with each purpose and the choices that it carries."""
    yield from beside_the_plan()
    for name in names():
        for purpose in PURPOSES:
            for label, tuning in choices(load(name)):
                if tuning.isolation == "exclusive" and purpose != "realtime":
                    continue
                yield f"{name} {purpose} {label}", node(name, tuning=tuning, purpose=purpose)


def choices(hardware: Hardware) -> Iterator[tuple[str, Tuning]]:
    """Isolation with each kind of hugepages, then each other choice that the machine carries."""
    one_core = Tuning(housekeeping_cores_per_numa_node=1)
    alone = replace(one_core, isolation="exclusive")
    for isolated, gib, mib2 in (
        (one_core, 0, 0),
        (one_core, 4, 0),
        (alone, 0, 512),
        (alone, 2, 64),
    ):
        yield (
            f"{isolated.isolation} {gib}+{mib2}",
            replace(isolated, hugepages_1gi_per_numa_node=gib, hugepages_2mi_per_numa_node=mib2),
        )
    yield (
        "real time",
        replace(alone, realtime=True, hugepages_2mi_per_numa_node=64, hugetlb_shm_group=1000),
    )
    yield (
        "local interrupts",
        replace(
            one_core, irq="numa-local", transparent_hugepages="never", background_io_mib_per_s=200
        ),
    )
    extra = replace(one_core, extra_kernel_arguments=("audit=0", "mitigations=off"))
    if hardware.gpus:
        options = ("NVreg_RestrictProfilingToAdminUsers=0", "NVreg_EnableStreamMemOPs=1")
        extra = replace(extra, extra_module_options=options, largest_pod_gpus=1)
    yield "extra", extra
    if not hardware.virtual:
        yield "vfio", replace(one_core, iommu="vfio", power="performance")
        yield "no iommu", replace(one_core, iommu="off")
