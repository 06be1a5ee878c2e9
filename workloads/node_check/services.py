"""Services that must run, and services that must not."""

from collections.abc import Iterator

from workloads.node_check.drift import Drift
from workloads.node_check.machine import LiveMachine
from workloads.node_check.plan import Plan

FABRIC_MANAGER = "nv-fabricmanager"


def check(machine: LiveMachine, plan: Plan) -> Iterator[Drift]:
    """Checks the kubelet, Fabric Manager where there are NVSwitches, and unwanted services."""
    wanted = ["kubelet"]
    if plan.nvswitch:
        wanted.append(FABRIC_MANAGER)
    if plan.gpus:
        wanted.append("nvidia-persistenced")
    for program in wanted:
        if not machine.runs(program):
            yield Drift(
                check="service",
                what=f"Process {program}",
                seen="not running",
                expected="running",
                remedy=f"read systemctl status and journalctl of the unit that starts {program}",
                critical=program == FABRIC_MANAGER,
            )
    for unit in plan.absent_units:
        program = unit.removesuffix(".service")
        if machine.runs(program):
            yield Drift(
                check="unwanted-service",
                what=f"Process {program}",
                seen="running",
                expected="absent",
                remedy=f"systemctl mask --now {unit}: it moves interrupts away from the plan",
            )
