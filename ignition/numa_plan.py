"""From a machine's wiring and a pool's choices to the one plan that all boot data follows."""

from collections.abc import Mapping
from dataclasses import dataclass

from hardware.hardware import Hardware
from ignition.tuning import Purpose, Tuning


class PlanError(ValueError):
    """Choices that the machine cannot carry; one sentence with the value and what is allowed."""


@dataclass(frozen=True, kw_only=True)
class Reason:
    """Why a line is there, and who says so."""

    reason: str
    source: str


@dataclass(frozen=True, kw_only=True)
class NodePlan:
    """One NUMA node: its CPU sets (kernel lists, SMT threads included), hugepages and reservation."""

    id: int
    housekeeping: str
    workload: str
    hugepages_1gi: int
    hugepages_2mi: int
    reserved_memory_mib: int


@dataclass(frozen=True, kw_only=True)
class NumaPlan:
    """Everything that follows from the wiring. `reasons` maps each line to its reason and source."""

    hardware: str
    purpose: Purpose
    nodes: tuple[NodePlan, ...]
    housekeeping: str
    workload: str
    kernel_arguments: tuple[str, ...]
    sysctls: Mapping[str, str]
    kubelet: Mapping[str, object]
    reasons: Mapping[str, Reason]
    digest: str


def plan(hardware: Hardware, tuning: Tuning, purpose: Purpose) -> NumaPlan:
    """The plan of a machine; PlanError where the choices do not fit it."""
    raise NotImplementedError
