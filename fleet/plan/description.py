"""A plan as plain data, for `--json`, comparisons and tables."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from fleet.plan.subject import Subject
from hardware.catalogue import NumaNode
from ignition.plan.numa_plan import NodePlan, NumaPlan

Group = Literal["kernel argument", "sysctl", "kubelet", "system"]
GROUPS: tuple[Group, ...] = ("kernel argument", "sysctl", "kubelet", "system")


@dataclass(frozen=True, kw_only=True)
class PlanLine:
    """A line of a plan. `key` identifies it, independent of its value."""

    group: Group
    key: str
    value: Any
    reason: str
    source: str


def lines(plan: NumaPlan) -> Iterator[PlanLine]:
    """Every line of the plan that has a reason, in the plan's order."""
    for text, why in plan.reasons.items():
        group, key, value = _split(plan, text)
        yield PlanLine(group=group, key=key, value=value, reason=why.reason, source=why.source)


def _split(plan: NumaPlan, text: str) -> tuple[Group, str, Any]:
    if text in plan.kernel_arguments:
        # the size of pages is a part of the name: one count for each size
        name = text.partition(" " if text.startswith("hugepagesz=") else "=")[0]
        rest = text.removeprefix(name).strip(" =").removeprefix("hugepages=")
        return "kernel argument", name, rest or None
    name, equals, value = text.partition(" = ")
    if equals and name in plan.sysctls:
        return "sysctl", name, value
    if text.startswith("kubelet "):
        field = text.removeprefix("kubelet ")
        return "kubelet", field, plan.kubelet.get(field)
    name, equals, value = text.partition("=")
    return "system", name, value if equals else None


def describe(subject: Subject) -> dict[str, Any]:
    """A plan as JSON data; names end in the unit of memory, GiB or MiB."""
    hardware, plan = subject.hardware, subject.plan
    return {
        "hardware": hardware.name,
        "purpose": plan.purpose,
        "digest": plan.digest,
        "tuning": asdict(subject.tuning),
        "unverified": list(hardware.doubts),
        "housekeeping": plan.housekeeping,
        "workload": plan.workload,
        "numa_nodes": [
            _numa_node(subject, wired, planned)
            for wired, planned in zip(hardware.numa_nodes, plan.nodes, strict=True)
        ],
        "lines": [asdict(line) for line in lines(plan)],
    }


def _numa_node(subject: Subject, wired: NumaNode, planned: NodePlan) -> Mapping[str, Any]:
    here = {
        "gpus": [gpu.index for gpu in subject.hardware.gpus if gpu.numa_node == wired.id],
        "nics": [nic.name for nic in subject.hardware.nics if nic.numa_node == wired.id],
    }
    return {**asdict(planned), "memory_gib": wired.memory_gib, **here}
