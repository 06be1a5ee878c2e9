"""The Node that a booted machine registers: capacity, allocatable, labels and taints."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hardware.catalogue import Hardware
from ignition.boot import (
    arguments_that_stop,
    boot_units,
    containerd,
    control_plane,
    cpus,
    drives,
    extensions,
    files,
    interrupts,
    joining,
    kernel,
    kubelet,
    memory_sums,
    modprobe,
    must_start,
    network,
    plan_json,
    scratch,
    scripts,
    sysctl,
    units,
    updates,
    wireguard,
)
from ignition.boot.config import BootConfig, ConfigError, Fetch, Role, read
from ignition.boot.joining import Joining
from ignition.boot.kernel import PAGE, Kernel
from ignition.boot.kubelet import Kubelet
from ignition.boot.parsing import Json, masked
from ignition.boot.plan_json import ConfiguredMachine
from ignition.boot.quantities import kibibytes

_GIB = 1024**3
_DEFAULT_PODS = 110


@dataclass(frozen=True, kw_only=True)
class BootedNode:
    """The Node as the kubelet would register it; quantities in Kubernetes notation.

    `hugepages` has the pages on each NUMA node by resource name, `kubelet` the fields of
    KubeletConfiguration that are not kubeadm's. `hostname` is None where the machine keeps the name
    that its site gives it.
    """

    hostname: str | None
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...]
    capacity: Mapping[str, str]
    allocatable: Mapping[str, str]
    housekeeping_cpus: str
    workload_cpus: str
    hugepages: Mapping[str, tuple[int, ...]]
    kubelet: Json
    decided_by_ignition: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Booted:
    """A node, or the problems that keep it out; each sentence says what to change.

    A gateway that comes up has neither: it is a machine outside the cluster. `unchecked` says what
    could not be judged on this computer.
    """

    node: BootedNode | None
    problems: tuple[str, ...]
    role: Role = "node"
    unchecked: tuple[str, ...] = ()


def boot(ignition: str, hardware: Hardware, *, fetch: Fetch | None = None) -> Booted:
    """Boot `hardware` from Ignition JSON; `fetch` answers merge sources that are not data: URLs.

    `fetch` raises OSError, LookupError or ValueError for what it does not have.
    """
    problems: list[str] = []
    try:
        config = read(ignition, fetch, problems)
    except ConfigError as error:
        return Booted(node=None, problems=tuple(map(masked, (str(error), *problems))))
    role = config.role
    units.check(config, problems)
    files.check(config, problems)
    problems += files.hostname(config)
    unchecked = scripts.check(config, problems)
    drives.check(config, problems)
    network.check(config, problems)
    must_start.check(config, problems)
    updates.check(config, problems)
    modprobe.check(config, problems)
    wireguard.check(config, problems)
    scratch.filesystems(config, problems)
    if role != "gateway":
        extensions.images(config, hardware, problems)
    command_line = kernel.check(config.arguments, hardware, problems)
    problems += arguments_that_stop.removed(config.removed_arguments)
    sysctls = sysctl.check(config, hardware, problems)
    node = None
    if role == "control-plane":
        hostname = control_plane.check(config, hardware, problems)
        joined = Joining(hostname=hostname, patches=None, labels={})
        configured = kubelet.check(config, joined.patches, hardware, problems, worker=False)
        node = _node(hardware, command_line, configured, joined)
    elif role == "node":
        node = _worker(config, command_line, sysctls, hardware, problems)
    if problems:
        node = None
    found = tuple(map(masked, problems))
    return Booted(node=node, problems=found, role=role, unchecked=unchecked)


def _worker(
    config: BootConfig,
    command_line: Kernel,
    sysctls: Mapping[str, str],
    hardware: Hardware,
    problems: list[str],
) -> BootedNode:
    """Run the checks that hold only for a node that runs pods of users."""
    joined = joining.check(config, hardware, problems)
    configured = kubelet.check(config, joined.patches, hardware, problems, worker=True)
    extensions.check(config, hardware, problems)
    boot_units.check(config, problems)
    scratch.check(config, hardware, problems)
    containerd.check(config, hardware, problems)
    found = ConfiguredMachine(
        config=config,
        command_line=command_line,
        joined=joined,
        kubelet=configured,
        sysctls=sysctls,
        irq_cpus=interrupts.check(config, command_line, hardware, problems),
    )
    plan_json.check(found, hardware, problems)
    problems += memory_sums.problems(config, command_line, configured, hardware)
    return _node(hardware, command_line, configured, joined)


def _node(
    hardware: Hardware, command_line: Kernel, configured: Kubelet, joined: Joining
) -> BootedNode:
    pages = {name: sum(command_line.hugepages.get(name, ())) * size for name, size in PAGE.items()}
    memory, disk = hardware.memory_gib * _GIB, hardware.system_disk_gib * _GIB
    eviction = configured.eviction
    cpu = len(cpus.every(hardware))
    pods = str(configured.configuration.get("maxPods", _DEFAULT_PODS))
    common = {"pods": pods, **{name: _whole(size, name) for name, size in pages.items()}}
    if hardware.gpus:
        common["nvidia.com/gpu"] = str(hardware.gpu_count)
    return BootedNode(
        hostname=joined.hostname,
        labels=dict(sorted(joined.labels.items())),
        taints=configured.taints,
        capacity={
            "cpu": str(cpu),
            "memory": kibibytes(memory),
            "ephemeral-storage": kibibytes(disk),
            **common,
        },
        allocatable={
            "cpu": str(cpu - len(configured.reserved_cpus)),
            "memory": kibibytes(
                memory
                - configured.reserved_memory
                - eviction["memory.available"]
                - sum(pages.values())
            ),
            "ephemeral-storage": str(disk - eviction["nodefs.available"]),
            **common,
        },
        housekeeping_cpus=cpus.write(configured.reserved_cpus),
        workload_cpus=cpus.write(cpus.every(hardware) - configured.reserved_cpus),
        hugepages=dict(command_line.hugepages),
        kubelet=configured.configuration,
        decided_by_ignition=tuple(_decided(command_line, configured, joined, hardware)),
    )


def _whole(size: int, name: str) -> str:
    unit = name.removeprefix("hugepages-")[1:]
    factor = {"Mi": 1024**2, "Gi": _GIB}[unit]
    return f"{size // factor}{unit}" if size else "0"


def _decided(
    command_line: Kernel, configured: Kubelet, joined: Joining, hardware: Hardware
) -> Iterator[str]:
    yield from (("labels",) if joined.labels else ())
    yield "allocatable.memory"
    if joined.hostname:
        yield "hostname"
    if configured.taints:
        yield "taints"
    if configured.reserved_cpus:
        yield "allocatable.cpu"
    for name, counts in command_line.hugepages.items():
        if sum(counts):
            yield f"capacity.{name}"
    if hardware.gpus:
        yield "capacity.nvidia.com/gpu"
