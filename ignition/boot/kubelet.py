"""The kubelet configuration that the node starts with, held to kubelet's own start-up checks."""

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from hardware.catalogue import Hardware
from ignition.boot import cpus, memory
from ignition.boot.config import BootConfig
from ignition.boot.fields import CHOICES, EFFECTS, FIELDS, MOST_NUMA_NODES, OPTIONS
from ignition.boot.patches import patched
from ignition.boot.texts import QUALIFIED, VALUE

Json = dict[str, object]


@dataclass(frozen=True, kw_only=True)
class Kubelet:
    """What the configuration reserves, in bytes; `eviction` is by signal."""

    configuration: Json
    reserved_cpus: frozenset[int]
    reserved_memory: int
    eviction: Mapping[str, int]
    taints: tuple[Mapping[str, str], ...]


def check(
    config: BootConfig,
    patches: str | None,
    hardware: Hardware,
    problems: list[str],
    *,
    worker: bool,
) -> Kubelet:
    """Read the patched configuration; what kubelet would refuse is added to `problems`.

    A worker also needs the managers and taints that keep pods beside their GPUs.
    """
    found = patched(config, patches, problems)
    problems += _fields(found)
    problems += _options(found)
    reserved = _reserved_cpus(found, hardware, problems)
    kept, eviction = memory.reserved(found, hardware, problems)
    memory.manager(found, hardware, kept + eviction["memory.available"], problems)
    problems += _topology(found, hardware)
    if worker:
        problems += _policies(found, hardware)
    taints = tuple(cast("list[Mapping[str, str]]", found.get("registerWithTaints") or []))
    problems += _taints(taints)
    if worker:
        problems += _missing_taints(taints, hardware)
    return Kubelet(
        configuration=found,
        reserved_cpus=reserved,
        reserved_memory=kept,
        eviction=eviction,
        taints=taints,
    )


def _fields(found: Json) -> Iterator[str]:
    for name in found.keys() - FIELDS:
        near = difflib.get_close_matches(name, FIELDS, n=1)
        hint = f"; the nearest is {near[0]}" if near else "; remove it"
        yield f"kubelet: {name} is no field of KubeletConfiguration{hint}"
    for name, choices in CHOICES.items():
        if name in found and found[name] not in choices:
            yield f'kubelet: {name} "{found[name]}" is unknown; allowed are {", ".join(choices)}'


def _options(found: Json) -> Iterator[str]:
    for name, known in OPTIONS.items():
        for option, value in cast("Json", found.get(name) or {}).items():
            if option not in known:
                yield f"kubelet: {name} has the unknown option {option}; known: {', '.join(known)}"
            elif not isinstance(value, str):
                yield f'kubelet: {name} {option} must be a string; write "{json.dumps(value)}"'
            elif known[option] == "a boolean" and value not in ("true", "false"):
                yield f'kubelet: {name} {option} "{value}" must be "true" or "false"'
            elif known[option] == "a number" and not value.isdigit():
                yield f'kubelet: {name} {option} "{value}" must be a number in quotes'


def _reserved_cpus(found: Json, hardware: Hardware, problems: list[str]) -> frozenset[int]:
    text = str(found.get("reservedSystemCPUs") or "")
    static = found.get("cpuManagerPolicy") == "static"
    if not text:
        if static:
            problems.append(
                "kubelet: cpuManagerPolicy static needs CPUs of its own; set reservedSystemCPUs"
            )
        return frozenset()
    try:
        reserved = cpus.read(text)
    except cpus.ListError as error:
        problems.append(f"kubelet: reservedSystemCPUs: {error}; write a list such as 0-3")
        return frozenset()
    missing = reserved - cpus.every(hardware)
    if missing:
        problems.append(
            f"kubelet: reservedSystemCPUs names CPUs {cpus.write(missing)} that {hardware.name} "
            f"lacks; it has {cpus.write(cpus.every(hardware))}"
        )
    alone = cpus.split_cores(reserved, hardware)
    if alone:
        problems.append(
            f"kubelet: reservedSystemCPUs leaves out the SMT siblings {cpus.write(alone)}; reserve "
            "whole cores"
        )
    if found.get("systemReservedCgroup") or found.get("kubeReservedCgroup"):
        problems.append("kubelet: reservedSystemCPUs cannot stand beside a reserved cgroup")
    return reserved & cpus.every(hardware)


def _topology(found: Json, hardware: Hardware) -> Iterator[str]:
    options = cast("Json", found.get("cpuManagerPolicyOptions") or {})
    policy = found.get("topologyManagerPolicy", "none")
    if found.get("cpuManagerPolicy") != "static" and options:
        yield "kubelet: cpuManagerPolicyOptions need cpuManagerPolicy static; set it"
    if policy == "single-numa-node" and options.get("distribute-cpus-across-numa") == "true":
        yield (
            "kubelet: distribute-cpus-across-numa has no use under single-numa-node; remove it or "
            "choose best-effort"
        )
    closest = cast("Json", found.get("topologyManagerPolicyOptions") or {})
    if policy == "none" and closest:
        yield "kubelet: topologyManagerPolicyOptions need a topologyManagerPolicy; set one"
    if policy == "single-numa-node" and closest.get("prefer-closest-numa-nodes") == "true":
        yield "kubelet: prefer-closest-numa-nodes has no use under single-numa-node; remove it"
    most = str(closest.get("max-allowable-numa-nodes", MOST_NUMA_NODES))
    if policy != "none" and most.isdigit() and int(most) < len(hardware.numa_nodes):
        yield (
            f"kubelet: {hardware.name} has {len(hardware.numa_nodes)} NUMA nodes, and the Topology "
            f"Manager refuses more than {most}; set max-allowable-numa-nodes"
        )


def _policies(found: Json, hardware: Hardware) -> Iterator[str]:
    """Without the three managers nothing keeps a pod's CPUs and memory beside its GPU."""
    if found.get("failSwapOn") is False:
        yield "kubelet: failSwapOn false tolerates swap, which is on no NUMA node; set it to true"
    if not hardware.gpus:
        return
    if found.get("cpuManagerPolicy") != "static":
        yield f"kubelet: {hardware.name} has GPUs and needs cpuManagerPolicy static; set it"
    if len(hardware.numa_nodes) > 1:
        if found.get("memoryManagerPolicy") != "Static":
            yield (
                f"kubelet: {hardware.name} has {len(hardware.numa_nodes)} NUMA nodes and needs "
                "memoryManagerPolicy Static; set it"
            )
        if found.get("topologyManagerPolicy", "none") == "none":
            yield (
                f"kubelet: {hardware.name} has {len(hardware.numa_nodes)} NUMA nodes and needs a "
                "topologyManagerPolicy; set best-effort, restricted or single-numa-node"
            )
        if found.get("topologyManagerScope") != "pod":
            yield (
                "kubelet: topologyManagerScope container places the containers of one pod apart; "
                "set pod"
            )
    options = cast("Json", found.get("cpuManagerPolicyOptions") or {})
    narrowest = min(len(core) for node in hardware.numa_nodes for core in cpus.cores(node))
    if narrowest > 1 and options.get("full-pcpus-only") != "true":
        yield (
            "kubelet: without full-pcpus-only two pods share the threads of a core; set it to "
            '"true"'
        )


def _taints(taints: tuple[Mapping[str, str], ...]) -> Iterator[str]:
    seen: set[tuple[str, str]] = set()
    for taint in taints:
        key, effect = str(taint.get("key")), str(taint.get("effect"))
        if effect not in EFFECTS:
            yield (
                f'kubelet: the taint {key} has the effect "{effect}"; allowed are '
                f"{', '.join(EFFECTS)}"
            )
        unknown = taint.keys() - {"key", "value", "effect", "timeAdded"}
        value = str(taint.get("value") or "")
        if unknown or not QUALIFIED.fullmatch(key) or not VALUE.fullmatch(value):
            yield f"kubelet: the taint {key} is malformed; write key, value and effect"
        if (key, effect) in seen:
            yield f"kubelet: the taint {key}:{effect} is given twice; give it once"
        seen.add((key, effect))


def _missing_taints(taints: tuple[Mapping[str, str], ...], hardware: Hardware) -> Iterator[str]:
    given = {
        (str(taint.get("key")), str(taint.get("effect"))): taint.get("value") for taint in taints
    }
    if hardware.gpus and ("nvidia.com/gpu", "NoSchedule") not in given:
        yield (
            f"kubelet: {hardware.name} has GPUs and no taint nvidia.com/gpu:NoSchedule, so any pod "
            "takes its CPUs; register with it"
        )
    unregistered = ("karpenter.sh/unregistered", "NoExecute")
    if hardware.kind == "aws" and unregistered not in given:
        yield (
            "kubelet: Karpenter gives up a node that does not register with the taint "
            "karpenter.sh/unregistered:NoExecute; register with it"
        )
    elif given.get(unregistered):
        yield "kubelet: the taint karpenter.sh/unregistered must have no value; remove it"
    elif hardware.kind != "aws" and any(key == unregistered[0] for key, _ in given):
        yield (
            f"kubelet: nothing takes karpenter.sh/unregistered off a {hardware.name}, which "
            "Karpenter did not make; remove the taint"
        )
