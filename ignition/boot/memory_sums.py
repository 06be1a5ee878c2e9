"""Compares kernel, kubelet and systemd: they must name the same CPUs and fit into the memory."""

from collections.abc import Iterator

from hardware.catalogue import Hardware
from ignition.boot import cpus, unit_syntax
from ignition.boot.config import BootConfig
from ignition.boot.kernel import PAGE, Kernel
from ignition.boot.kubelet import Kubelet
from ignition.boot.unit_syntax import parse, values

_GIB = 1024**3


def problems(
    config: BootConfig, command_line: Kernel, configured: Kubelet, hardware: Hardware
) -> Iterator[str]:
    """Yield where kernel, kubelet and systemd name different CPUs or take all of the memory."""
    reserved = configured.reserved_cpus
    if reserved and command_line.irq_cpus is not None and command_line.irq_cpus != reserved:
        yield (
            f"kubelet reserves CPUs {cpus.write(reserved)}, irqaffinity names "
            f"{cpus.write(command_line.irq_cpus)}; give both the same list"
        )
    if reserved & command_line.isolated_cpus:
        yield (
            f"kubelet reserves CPUs {cpus.write(reserved & command_line.isolated_cpus)}, which "
            "isolcpus isolates; give isolcpus the other CPUs"
        )
    unclaimed = cpus.every(hardware) - reserved - command_line.isolated_cpus
    if reserved and command_line.isolated_cpus and unclaimed:
        yield (
            f"CPUs {cpus.write(unclaimed)} are neither reserved by kubelet nor isolated; add them "
            "to one of the lists"
        )
    yield from _affinity(config, reserved, hardware)
    for node, memory in enumerate(hardware.numa_nodes):
        pages = sum(PAGE[name] * counts[node] for name, counts in command_line.hugepages.items())
        kept = configured.reserved_memory + configured.eviction["memory.available"]
        if pages + kept // len(hardware.numa_nodes) >= memory.memory_gib * _GIB:
            yield (
                f"hugepages and reservations leave no ordinary memory on NUMA node {node} of "
                f"{hardware.name}; reserve fewer hugepages"
            )


def _affinity(config: BootConfig, reserved: frozenset[int], hardware: Hardware) -> Iterator[str]:
    """CPUAffinity must keep daemons off workload CPUs, since reservedSystemCPUs moves none."""
    small_guest = hardware.virtual and len(hardware.numa_nodes) == 1 and not hardware.gpus
    given = False
    for path, file in config.files.items():
        if not path.startswith("/etc/systemd/system.conf.d/"):
            continue
        if not path.endswith(".conf"):
            yield f"{path} is not read by systemd; end its name in .conf"
        yield from unit_syntax.problems(path, file.text or "")
        text = " ".join(values(parse(file.text or ""), "CPUAffinity"))
        if not text:
            continue
        given = True
        try:
            found = cpus.read(",".join(text.replace(",", " ").split()))
        except cpus.ListError as error:
            yield f"{path}: CPUAffinity: {error}; write a list such as 0-3,56-59"
            continue
        if reserved and found != reserved:
            yield (
                f"{path}: CPUAffinity names CPUs {cpus.write(found)}, kubelet reserves "
                f"{cpus.write(reserved)}; give both the same list"
            )
    if reserved and not given and not small_guest:
        yield (
            "nothing keeps the system's daemons off the workload CPUs; write CPUAffinity with "
            f"{cpus.write(reserved)} below /etc/systemd/system.conf.d"
        )
