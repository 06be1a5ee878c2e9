"""Compares the kubelet's configuration and its saved state with the plan's patch.

kubeadm writes /var/lib/kubelet/config.yaml once, at join; who edits it later, or joined with
another patch, runs another plan.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from hardware.cpuset import CpusetError, format_list, parse_list
from workloads.node_check.drift import REINSTALL, Drift
from workloads.node_check.machine import LiveMachine
from workloads.node_check.plan import Plan
from workloads.node_check.yaml_lines import YamlLinesError, parse

CONFIG = "var/lib/kubelet/config.yaml"
CPU_STATE = "var/lib/kubelet/cpu_manager_state"
MEMORY_STATE = "var/lib/kubelet/memory_manager_state"
_UNITS = ("", "Ki", "Mi", "Gi", "Ti")
_QUANTITY = re.compile("([0-9]+)(|Ki|Mi|Gi|Ti)")


def check(machine: LiveMachine, plan: Plan) -> Iterator[Drift]:
    """Checks the patch field by field, then the policies that the managers run with."""
    text = machine.text(CONFIG)
    try:
        config = parse(text or "")
    except YamlLinesError as error:
        yield _drift(f"/{CONFIG}", str(error), "as kubeadm writes it", REINSTALL)
        return
    if text is None:
        yield _drift(f"/{CONFIG}", "not there", "there", "see systemctl status kubeadm-join")
        return
    for path, wanted, seen in _differences(plan.kubelet, config, ()):
        yield _drift(f"Kubelet field {'.'.join(path)}", seen, wanted, REINSTALL)
    yield from _states(machine, plan)


def _differences(
    wanted: Mapping[str, Any], seen: Mapping[str, Any], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], str, str]]:
    for name, value in wanted.items():
        found = seen.get(name)
        if isinstance(value, dict) and isinstance(found, dict):
            yield from _differences(value, found, (*path, name))
        elif not _equal(value, found):
            yield (*path, name), _shown(value), "not set" if found is None else _shown(found)


def _equal(wanted: Any, seen: Any) -> bool:
    """Compares as text, since scalars of YAML lines are texts; lists may be in any order."""
    if isinstance(wanted, dict) and isinstance(seen, dict):
        return wanted.keys() == seen.keys() and all(_equal(wanted[key], seen[key]) for key in seen)
    if isinstance(wanted, list) and isinstance(seen, list):
        return len(wanted) == len(seen) and all(any(_equal(a, b) for b in seen) for a in wanted)
    if isinstance(wanted, dict | list) or isinstance(seen, dict | list) or seen is None:
        return False
    if wanted is None or isinstance(wanted, bool):
        return str(seen) == json.dumps(wanted)
    texts = str(wanted), str(seen)
    if texts[0] == texts[1] or _same_cpus(*texts):
        return True
    amounts = tuple(map(_bytes, texts))
    return None not in amounts and amounts[0] == amounts[1]


def _same_cpus(wanted: str, seen: str) -> bool:
    try:
        return bool(wanted) and parse_list(wanted) == parse_list(seen)
    except CpusetError:
        return False


def _bytes(quantity: str) -> int | None:
    """Reads a quantity: 7168Mi and 7Gi are equal, and the API machinery writes the shorter."""
    found = _QUANTITY.fullmatch(quantity)
    return None if found is None else int(found[1]) << 10 * _UNITS.index(found[2])


def _shown(value: Any) -> str:
    return json.dumps(value) if isinstance(value, dict | list) else str(value)


def _states(machine: LiveMachine, plan: Plan) -> Iterator[Drift]:
    for path, field in (
        (CPU_STATE, "cpuManagerPolicy"),
        (MEMORY_STATE, "memoryManagerPolicy"),
    ):
        wanted = plan.kubelet.get(field)
        text = machine.text(path)
        if wanted is None or text is None:
            continue
        state = _json(text)
        policy = state.get("policyName")
        if policy != wanted:
            remedy = "drain the node, stop the kubelet, delete the file and start the kubelet"
            yield _drift(f"Policy in /{path}", str(policy), str(wanted), remedy)
    yield from _exclusive_cpus(machine, plan)


def _exclusive_cpus(machine: LiveMachine, plan: Plan) -> Iterator[Drift]:
    """Finds pods that hold a housekeeping CPU for themselves."""
    entries = _json(machine.text(CPU_STATE) or "{}").get("entries") or {}
    held: set[int] = set()
    for containers in entries.values():
        for cpus in containers.values():
            held |= parse_list(cpus)
    astray = held & parse_list(plan.cpus.housekeeping)
    if astray:
        yield _drift(
            "List of housekeeping CPUs that containers hold for themselves",
            format_list(astray),
            "empty",
            "reservedSystemCPUs changed under a running kubelet: drain the node, delete "
            f"/{CPU_STATE} and restart the kubelet",
        )


def _json(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except json.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _drift(what: str, seen: str, expected: str, remedy: str) -> Drift:
    return Drift(check="kubelet", what=what, seen=seen, expected=expected, remedy=remedy)
