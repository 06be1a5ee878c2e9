"""Kernel, kubelet and interrupts of shipped Ignition must be as the plan of the hardware says.

The rule derives the plan again from a pool's inputs `hardware`, `purpose` and `tuning`, and looks
for each line in the final Ignition: kernel arguments, the patch of the kubelet's configuration, the
CPUs of interrupts and of system services, and sysctls. It reports lines that were changed, left out
or added, and flags that override the kubelet's configuration.

For a whole stack it also reads the user data of every machine with all that it merges: that must be
the Ignition of its pool, plus only the machine's own name and token.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache

from hardware.catalogue import load
from ignition.boot.config import BootConfig
from ignition.plan.numa_plan import NumaPlan, PlanError, plan
from ignition.plan.tuning import PURPOSES, Purpose, Tuning
from policies.language.boot_data import (
    KUBELET_FLAGS,
    Shipped,
    ShippedError,
    judged,
    of_pool,
    texts_of,
)
from policies.language.manifest import describe, mapping
from policies.language.rule import Manifest, Rule, Settings
from policies.language.user_data import booted, differences, pool_of, user_data

_PATCHES = "/etc/kubernetes/patches/"
_PATCH = f"{_PATCHES}kubeletconfiguration+merge.json"
_SCRIPT = "/opt/bin/fleet-irq"
_UNIT = "fleet-irq.service"
_WRITES = "smp_affinity_list"
_TAINTS = "registerWithTaints"
_FLAG = re.compile(
    r"--((?:reserved-cpus|cpu-manager-policy|topology-manager|memory-manager|reserved-memory"
    r"|kube-reserved|system-reserved|eviction-hard|fail-swap-on|max-pods|config)[a-z-]*)"
)
_STARTS = re.compile(r"^Exec\w+=.*$", re.MULTILINE)
_GRUB = re.compile(r"/(?:usr/share/)?oem/grub\.cfg")
_ARRAY = re.compile(r"^declare -A cpus=\((.*)\)$", re.MULTILINE)
_ENTRY = re.compile(r'\[(-?[0-9]+)\]="?([0-9,-]+)')


def _judge(shipped: Shipped) -> list[str]:
    expected = _plan(shipped)
    digest = shipped.inputs.get("numaPlan")
    found = [
        *_arguments(shipped.config, expected),
        *_kubelet(shipped.config, expected),
        *_interrupts(shipped.config, expected),
        *_services(shipped.config, expected),
        *_sysctls(shipped.config, expected),
    ]
    if digest is not None and digest != expected.digest:
        found.append(f"have the numaPlan {expected.digest} of its hardware, purpose and tuning")
    return found


def across(manifest: Manifest, _settings: Settings, stack: Sequence[Manifest]) -> list[str]:
    """Returns where the user data of machines is not the Ignition of their pool."""
    pool = pool_of(manifest, stack)  # first, because other Secrets are not known at a preview
    text = None if pool is None else user_data(manifest)
    if text is None or pool is None:
        return []
    final = booted(text, stack)
    if final is None:
        return [f"{describe(manifest)} must have user data that can be read with its stack."]
    try:
        faults = list(differences(of_pool(pool).config, final))
    except ShippedError:  # which is reported for the pool itself
        return []
    return [f"{describe(manifest)} must {fault}, in its user data." for fault in faults]


def _plan(shipped: Shipped) -> NumaPlan:
    purpose = shipped.inputs.get("purpose")
    given = mapping(shipped.inputs.get("tuning"))
    known = {field.name for field in fields(Tuning)}
    chosen = {
        name: tuple(value) if isinstance(value, list) else value for name, value in given.items()
    }
    for one in PURPOSES:
        if one == purpose and chosen.keys() <= known:
            try:
                return _planned(shipped.hardware.name, Tuning(**chosen), one)  # type: ignore[arg-type]  # wrong ones do not make a plan
            except (PlanError, TypeError):
                raise ShippedError("have a tuning that its hardware can carry") from None
    raise ShippedError(f"have a purpose of {', '.join(PURPOSES)} and a tuning of known choices")


@lru_cache(maxsize=32)
def _planned(hardware: str, tuning: Tuning, purpose: Purpose) -> NumaPlan:
    return plan(load(hardware), tuning, purpose)


def _arguments(config: BootConfig, expected: NumaPlan) -> Iterator[str]:
    given = list(config.arguments)
    for argument in expected.kernel_arguments:
        if argument not in given:
            yield f"have the kernel argument {argument} of its NUMA plan"
    for argument in given:
        if argument not in expected.kernel_arguments:
            yield f"not have the kernel argument {argument}, which is not of its NUMA plan"
    for path in config.files:
        if _GRUB.fullmatch(path):
            yield f"not have the file {path}, which sets kernel arguments beside its NUMA plan"


def _kubelet(config: BootConfig, expected: NumaPlan) -> Iterator[str]:
    patches = {path for path in config.files if path.startswith(f"{_PATCHES}kubeletconfiguration")}
    if patches - {_PATCH}:
        yield f"patch the kubelet's configuration in {_PATCH} alone"
    given = _json(config.text(_PATCH))
    for name, value in expected.kubelet.items():
        if given.get(name) != value:
            wanted = json.dumps(value, separators=(",", ":"))
            yield f"set the kubelet's {name} to {wanted}, as its NUMA plan does"
    for name in sorted(given.keys() - expected.kubelet.keys() - {_TAINTS}):
        yield f"not set the kubelet's {name}, which its NUMA plan does not"
    started = [config.text(KUBELET_FLAGS) or "", *texts_of(config, "kubelet.service")]
    for flag in _FLAG.findall("\n".join(started)):
        yield f"not give the kubelet the flag --{flag}, which overrides its NUMA plan"


def _json(text: str | None) -> Mapping[str, object]:
    try:
        return mapping(json.loads(text or "{}"))
    except ValueError:
        return {}


def _interrupts(config: BootConfig, expected: NumaPlan) -> Iterator[str]:
    script = config.text(_SCRIPT) or ""
    array = _ARRAY.search(script) if _WRITES in script else None
    given = dict(_ENTRY.findall(array[1] if array else ""))
    wanted = {str(node): cpus for node, cpus in expected.irq_cpus.items()}
    if len(wanted) == 1:  # on such a machine the kernel knows no node of a device
        wanted["-1"] = expected.irq_cpus[0]
    if given != wanted:
        listed = ", ".join(
            f"{cpus} of NUMA node {node}" for node, cpus in wanted.items() if node != "-1"
        )
        yield f"serve interrupts on CPUs {listed or 'of no choice'}, as its NUMA plan does"
    unit = config.units.get(_UNIT)
    if wanted and (unit is None or not unit.enabled or unit.masked):
        yield f"enable {_UNIT}, which places interrupts as its NUMA plan does"
    elif wanted and _STARTS.findall("\n".join(texts_of(config, _UNIT))) != [f"ExecStart={_SCRIPT}"]:
        yield f"start {_SCRIPT} in {_UNIT}, which places interrupts as its NUMA plan does"


def _services(config: BootConfig, expected: NumaPlan) -> Iterator[str]:
    for name in expected.system.masked_units:
        if name not in config.units or not config.units[name].masked:
            yield f"mask {name}, which would undo its NUMA plan"
    affinity = [
        value.strip()
        for path, file in config.files.items()
        if path.startswith("/etc/systemd/system.conf.d/")
        for value in re.findall(r"^CPUAffinity=(.*)$", file.text or "", re.MULTILINE)
    ]
    if affinity != ([expected.cpu_affinity] if expected.cpu_affinity else []):
        yield (
            f"keep the system's services on CPUs {expected.cpu_affinity or 'of no choice'}, as its "
            "NUMA plan does"
        )


def _sysctls(config: BootConfig, expected: NumaPlan) -> Iterator[str]:
    lines = [
        line.strip().partition("=")
        for path in sorted(config.files)  # a later file wins, as in systemd-sysctl
        if path.startswith("/etc/sysctl.d/")
        for line in (config.text(path) or "").splitlines()
    ]
    given = {
        _sysctl(name): value.strip()
        for name, equals, value in lines
        if equals and not name.startswith(("#", ";"))
    }
    for name, value in expected.sysctls.items():
        if given.get(name) != value:
            yield f"set the sysctl {name} to {value}, as its NUMA plan does"
    for name in sorted(given.keys() - expected.sysctls.keys()):
        yield f"not set the sysctl {name}, which is not of its NUMA plan"


def _sysctl(name: str) -> str:
    """A name with dots: sysctl.d knows it with slashes too, and `-` before it lets it fail."""
    found = name.strip().removeprefix("-")
    return found.translate(str.maketrans("./", "/.")) if "/" in found.partition(".")[0] else found


RULE = Rule(
    id="numa/shipped-plan",
    sentence="Shipped Ignition must match the NUMA plan of the declared hardware.",
    why=(
        "Kernel, kubelet and interrupts must name the same CPUs: one list that differs puts "
        "interrupts on the CPUs of jobs or keeps the kubelet from starting."
    ),
    source="https://kubernetes.io/docs/tasks/administer-cluster/reserve-compute-resources/",
    watched_by=("NodeDrift",),
    predicate=judged(_judge),
    across=across,
)
