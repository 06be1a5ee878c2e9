"""From a machine's wiring and a pool's choices to the one plan that all boot data follows.

Housekeeping takes the first cores of each NUMA node, whole, with their SMT siblings; the rest is
for workloads. Kernel arguments, sysctls and kubelet configuration name the same CPU sets, so they
cannot disagree, and each line carries its reason and source.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

from hardware.catalogue import Hardware
from hardware.cpuset import format_list
from ignition.plan import interrupts, kernel, kubelet
from ignition.plan.interrupts import IrqAffinity
from ignition.plan.kernel import sysctls
from ignition.plan.plan_lines import Reason, ReasonedLine
from ignition.plan.system import System, lines, system
from ignition.plan.tuning import Purpose, Tuning
from ignition.plan.tuning_checks import problems


class PlanError(ValueError):
    """Choices that the machine cannot carry; one sentence with the value and what is allowed."""


@dataclass(frozen=True, kw_only=True)
class NodePlan:
    """One NUMA node: CPU sets as kernel lists, SMT threads included; pages; memory kept in MiB."""

    id: int
    housekeeping: str
    workload: str
    hugepages_1gi: int
    hugepages_2mi: int
    reserved_memory_mib: int


@dataclass(frozen=True, kw_only=True)
class NumaPlan:
    """Everything that follows from the wiring. `housekeeping` and `workload` join all nodes.

    `kubelet` is a patch of KubeletConfiguration. `transparent_hugepages` None leaves the kernel's
    own mode. `irqs` has the CPUs of each device's interrupts, `irq_cpus` those of each NUMA node's
    devices, both empty where nobody places interrupts. `reasons` maps each line (a kernel argument,
    `name = value` of a sysctl, `kubelet <field>`, a unit, a limit) to its reason. `digest` changes
    when any of it changes.
    """

    hardware: str
    purpose: Purpose
    nodes: tuple[NodePlan, ...]
    housekeeping: str
    workload: str
    kernel_arguments: tuple[str, ...]
    sysctls: Mapping[str, str]
    transparent_hugepages: str | None
    kubelet: Mapping[str, object]
    irqs: tuple[IrqAffinity, ...]
    irq_cpus: Mapping[int, str]
    system: System
    reasons: Mapping[str, Reason]
    digest: str

    @property
    def cpu_affinity(self) -> str | None:
        """systemd's CPUAffinity list, None where services may run anywhere."""
        return self.system.cpu_affinity


def plan(hardware: Hardware, tuning: Tuning, purpose: Purpose) -> NumaPlan:
    """The plan of a machine; PlanError where the choices do not fit it."""
    reserved = kubelet.reservation(hardware)
    for problem in problems(hardware, tuning, purpose, reserved.per_node):
        raise PlanError(problem)
    nodes = _nodes(hardware, tuning, reserved)
    housekeeping = _join(hardware, tuning, housekeeping=True)
    workload = _join(hardware, tuning, housekeeping=False)
    arguments = tuple(
        kernel.arguments(hardware, tuning, purpose, housekeeping=housekeeping, workload=workload)
    )
    settings = tuple(sysctls(hardware, tuning, purpose))
    fields = kubelet.fields(hardware, tuning, purpose, reserved, housekeeping=housekeeping)
    decided = system(hardware, tuning, housekeeping=housekeeping)
    kept = {node.id: node.housekeeping for node in nodes}
    irq_cpus = interrupts.cpus_of_nodes(hardware, tuning, kept) if decided.places_interrupts else {}
    patch = {field.name: field.value for field in fields}
    every = (
        *arguments,
        *settings,
        *(field.line() for field in fields),
        *lines(decided, tuning),
    )
    return NumaPlan(
        hardware=hardware.name,
        purpose=purpose,
        nodes=nodes,
        housekeeping=housekeeping,
        workload=workload,
        kernel_arguments=tuple(line.text for line in arguments),
        sysctls=dict(line.text.split(" = ", 1) for line in settings),
        transparent_hugepages=kernel.transparent_hugepages(tuning, purpose),
        kubelet=patch,
        irqs=interrupts.irqs(hardware, irq_cpus) if irq_cpus else (),
        irq_cpus=irq_cpus,
        system=decided,
        reasons=_reasons(every),
        digest=_digest([line.text for line in every], patch, asdict(decided), irq_cpus, workload),
    )


def _nodes(
    hardware: Hardware, tuning: Tuning, reserved: kubelet.Reservation
) -> tuple[NodePlan, ...]:
    wanted = tuning.housekeeping_cores_per_numa_node
    return tuple(
        NodePlan(
            id=node.id,
            housekeeping=format_list(cpu for core in node.cores()[:wanted] for cpu in core),
            workload=format_list(cpu for core in node.cores()[wanted:] for cpu in core),
            hugepages_1gi=tuning.hugepages_1gi_per_numa_node,
            hugepages_2mi=tuning.hugepages_2mi_per_numa_node,
            reserved_memory_mib=kept,
        )
        for node, kept in zip(hardware.numa_nodes, reserved.per_node, strict=True)
    )


def _join(hardware: Hardware, tuning: Tuning, *, housekeeping: bool) -> str:
    wanted = tuning.housekeeping_cores_per_numa_node
    part = slice(0, wanted) if housekeeping else slice(wanted, None)
    return format_list(
        cpu for node in hardware.numa_nodes for core in node.cores()[part] for cpu in core
    )


def _reasons(every: Iterable[ReasonedLine]) -> Mapping[str, Reason]:
    return {line.text: Reason(reason=line.reason, source=line.source) for line in every}


def _digest(*decided: object) -> str:
    text = json.dumps(decided, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:8]
