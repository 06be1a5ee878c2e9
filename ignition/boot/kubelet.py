"""The kubelet configuration that the node starts with, held to kubelet's own start-up checks."""

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from hardware.catalogue import Hardware
from ignition.boot import cpus, kubelet_memory, kubelet_rules, kubelet_schema
from ignition.boot.config import BootConfig
from ignition.boot.kubelet_fields import CHOICES, EFFECTS, MOST_NUMA_NODES, OPTIONS
from ignition.boot.kubelet_schema import FIELDS
from ignition.boot.parsing import QUALIFIED, VALUE, Json, documents, nearest

# kubeadm's own expression: cmd/kubeadm/app/util/patches/patches.go
_PATCH = re.compile(r"(kubeletconfiguration)([^.+\n]*)?(\+)?(json|merge|strategic)?")
_LONGEST_NAME = 63
_TARGETS = "kube-apiserver|kube-controller-manager|kube-scheduler|etcd|corednsdeployment"


@dataclass(frozen=True, kw_only=True)
class Kubelet:
    """The parsed configuration; memory is in bytes, `eviction` is by signal."""

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
    found = _patched(config, patches, problems)
    problems += _fields(found)
    problems += kubelet_rules.problems(found)
    problems += _options(found)
    reserved = _reserved_cpus(found, hardware, problems)
    kept, eviction = kubelet_memory.reserved(found, hardware, problems)
    kubelet_memory.manager(found, hardware, kept + eviction["memory.available"], problems)
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


def _patched(config: BootConfig, patches: str | None, problems: list[str]) -> Json:
    """Merge the patches in the folder `patches`; None means that kubeadm is given no folder."""
    found: Json = {}
    for path in sorted(config.files):
        if path.rpartition("/")[0] != (patches or "/etc/kubernetes/patches").rstrip("/"):
            continue
        name = posixpath.basename(path)
        if re.match(_TARGETS, name):
            continue
        if patches is None:
            problems.append(f"{path} is not read: join.yaml has no patches.directory; set it")
            continue
        match = _PATCH.match(name)
        if match is None or not name.endswith((".json", ".yaml")):
            problems.append(
                f"{path} is ignored by kubeadm; name it kubeletconfiguration[suffix]+merge.json"
            )
        elif match[4] == "json" or (match[3] and not match[4]):
            problems.append(f"{path} must be a merge or strategic patch; name it …+merge.json")
        else:
            found = _merge(found, _object(path, config.text(path), problems))
    kept, wrong = kubelet_schema.objects(found)
    problems += wrong
    return kept


def _object(path: str, text: str | None, problems: list[str]) -> Json:
    try:
        value = documents(text or "")[0] if path.endswith(".yaml") else json.loads(text or "")
    except (ValueError, IndexError) as error:
        problems.append(f"{path} cannot be read ({error}); write a mapping of fields")
        return {}
    if not isinstance(value, dict):
        problems.append(f"{path} must hold fields of KubeletConfiguration")
        return {}
    return value


def _merge(target: Json, patch: Json) -> Json:
    """RFC 7386, which a strategic patch of KubeletConfiguration equals."""
    merged = {key: value for key, value in target.items() if patch.get(key, "") is not None}
    for key, value in patch.items():
        old = merged.get(key)
        if isinstance(value, dict):
            merged[key] = _merge(old if isinstance(old, dict) else {}, value)
        elif value is not None:
            merged[key] = value
    return merged


def _fields(found: Json) -> Iterator[str]:
    for name, value in found.items():
        if name in FIELDS:
            yield from kubelet_schema.unknown(value, name, name)
            continue
        near = nearest(name, FIELDS)
        hint = f"the nearest is {near}" if near else "remove it"
        yield f"kubelet: {name} is no field of KubeletConfiguration; {hint}"
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
    """The three managers are needed to keep a pod's CPUs and memory beside its GPU."""
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
        unknown = taint.keys() - {"key", "value", "effect"}
        value = str(taint.get("value") or "")
        long = len(key.rpartition("/")[2]) > _LONGEST_NAME
        if unknown or long or not QUALIFIED.fullmatch(key) or not VALUE.fullmatch(value):
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
