"""From a machine's wiring and a pool's choices to the one plan that all boot data follows.

Housekeeping takes the first cores of each NUMA node, whole, with their SMT siblings; the rest is
for workloads. Kernel arguments, sysctls and kubelet configuration name the same CPU sets, so they
cannot disagree, and each line carries its reason and source.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from hardware.cpuset import format_list
from hardware.hardware import Hardware
from ignition import kernel, kubelet
from ignition.reasons import Line, Reason
from ignition.tuning import Purpose, Tuning

_MIB_PER_GIB = 1024


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

    `cpu_affinity` is systemd's CPUAffinity list, None where services may run anywhere. `kubelet` is
    a patch of KubeletConfiguration. `reasons` maps each line (a kernel argument, `name = value` of
    a sysctl, `kubelet <field>`) to its reason. `digest` changes when any of it changes.
    """

    hardware: str
    purpose: Purpose
    nodes: tuple[NodePlan, ...]
    housekeeping: str
    workload: str
    cpu_affinity: str | None
    kernel_arguments: tuple[str, ...]
    sysctls: Mapping[str, str]
    kubelet: Mapping[str, object]
    reasons: Mapping[str, Reason]
    digest: str


def plan(hardware: Hardware, tuning: Tuning, purpose: Purpose) -> NumaPlan:
    """The plan of a machine; PlanError where the choices do not fit it."""
    _refuse_what_cannot_boot(hardware)
    reserved = kubelet.reservation(hardware)
    nodes = _nodes(hardware, tuning, reserved)
    housekeeping = _join(hardware, tuning, housekeeping=True)
    workload = _join(hardware, tuning, housekeeping=False)
    arguments = tuple(
        kernel.arguments(hardware, tuning, purpose, housekeeping=housekeeping, workload=workload)
    )
    sysctls = tuple(kernel.sysctls(hardware, purpose))
    fields = kubelet.fields(hardware, purpose, reserved, housekeeping=housekeeping)
    lines = (*arguments, *sysctls, *(field.line() for field in fields))
    decided = {
        "cpu_affinity": housekeeping if kernel.isolates(hardware, tuning) else None,
        "kernel_arguments": tuple(line.text for line in arguments),
        "sysctls": dict(line.text.split(" = ", 1) for line in sysctls),
        "kubelet": {field.name: field.value for field in fields},
    }
    return NumaPlan(
        hardware=hardware.name,
        purpose=purpose,
        nodes=nodes,
        housekeeping=housekeeping,
        workload=workload,
        reasons=_reasons(lines),
        digest=_digest(decided, workload),
        **decided,  # type: ignore[arg-type]  # the dict holds exactly the four fields named above
    )


def _refuse_what_cannot_boot(hardware: Hardware) -> None:
    if hardware.gpus and hardware.arch != "amd64":
        raise PlanError(
            f"{hardware.name} has GPUs on {hardware.arch}, but Flatcar's NVIDIA driver extensions "
            "are built for amd64 alone"
        )


def _nodes(
    hardware: Hardware, tuning: Tuning, reserved: kubelet.Reservation
) -> tuple[NodePlan, ...]:
    wanted = tuning.housekeeping_cores_per_numa_node
    for name, pages in (
        ("hugepages_1gi_per_numa_node", tuning.hugepages_1gi_per_numa_node),
        ("hugepages_2mi_per_numa_node", tuning.hugepages_2mi_per_numa_node),
    ):
        if pages < 0:
            raise PlanError(f"tuning.{name}: {pages} is negative; allowed is 0 or more")
    planned = []
    for node, kept in zip(hardware.numa_nodes, reserved.per_node, strict=True):
        cores = node.cores()
        if not 1 <= wanted < len(cores):
            raise PlanError(
                f"tuning.housekeeping_cores_per_numa_node: {wanted} of the {len(cores)} cores of "
                f"NUMA node {node.id} of {hardware.name}; allowed is 1 to {len(cores) - 1}, so "
                "that the system and the workload each have a core"
            )
        _refuse_too_many_hugepages(hardware, tuning, node.memory_gib, kept, node.id)
        planned.append(
            NodePlan(
                id=node.id,
                housekeeping=format_list(cpu for core in cores[:wanted] for cpu in core),
                workload=format_list(cpu for core in cores[wanted:] for cpu in core),
                hugepages_1gi=tuning.hugepages_1gi_per_numa_node,
                hugepages_2mi=tuning.hugepages_2mi_per_numa_node,
                reserved_memory_mib=kept,
            )
        )
    return tuple(planned)


def _refuse_too_many_hugepages(
    hardware: Hardware, tuning: Tuning, memory_gib: int, kept_mib: int, node: int
) -> None:
    gib, mib2 = tuning.hugepages_1gi_per_numa_node, tuning.hugepages_2mi_per_numa_node
    wanted_mib = gib * _MIB_PER_GIB + mib2 * 2
    # a tenth stays with the kernel (page structures, buffers) and with pods that use ordinary pages
    allowed_mib = memory_gib * _MIB_PER_GIB * 9 // 10 - kept_mib
    if wanted_mib > allowed_mib:
        raise PlanError(
            f"tuning.hugepages: {gib} pages of 1 GiB and {mib2} of 2 MiB take {wanted_mib} MiB of "
            f"NUMA node {node} of {hardware.name}; allowed are {allowed_mib} MiB of its "
            f"{memory_gib} GiB, after the reservations and a tenth for ordinary pages"
        )


def _join(hardware: Hardware, tuning: Tuning, *, housekeeping: bool) -> str:
    wanted = tuning.housekeeping_cores_per_numa_node
    part = slice(0, wanted) if housekeeping else slice(wanted, None)
    return format_list(
        cpu for node in hardware.numa_nodes for core in node.cores()[part] for cpu in core
    )


def _reasons(lines: tuple[Line, ...]) -> Mapping[str, Reason]:
    return {line.text: Reason(reason=line.reason, source=line.source) for line in lines}


def _digest(decided: Mapping[str, object], workload: str) -> str:
    text = json.dumps([decided, workload], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:8]
