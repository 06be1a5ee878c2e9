"""Boots a machine from its final Ignition as the machine would, or says why it would not come up.

Imports nothing of the plan or the renderer, so that it cannot share their mistakes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hardware.hardware import Hardware


@dataclass(frozen=True, kw_only=True)
class BootedNode:
    """The Node as the kubelet would register it. Quantities in Kubernetes notation."""

    hostname: str | None
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...]
    capacity: Mapping[str, str]
    allocatable: Mapping[str, str]
    housekeeping_cpus: str
    workload_cpus: str
    hugepages: Mapping[str, int]
    join: bool
    decided_by_ignition: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Booted:
    """Either the node or what keeps it out, each problem one sentence that says what to change."""

    node: BootedNode | None
    problems: tuple[str, ...]


def boot(
    ignition: str, hardware: Hardware, *, fetch: Callable[[str], bytes] | None = None
) -> Booted:
    """Boot `hardware` from Ignition JSON; `fetch` answers merge sources that are not data: URLs."""
    raise NotImplementedError
