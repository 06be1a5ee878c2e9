"""Verdicts in sentences: who needs how many NUMA nodes, and what the policy makes of it."""

from collections.abc import Mapping, Sequence

from hardware.cpuset import format_list
from ignition.shapes.kubelet import AFFINITY, NO_START, KubeletOutcome
from ignition.shapes.node import MIB_PER_GIB, ContainerRequest, EmptyNode
from ignition.shapes.topology_manager import Hints, bits

_UNITS = {
    "cpu": "CPUs",
    "memory": "of memory",
    "hugepages-1Gi": "of 1 GiB pages",
    "hugepages-2Mi": "of 2 MiB pages",
    "nvidia.com/gpu": "GPUs",
}


def memory(mib: float) -> str:
    """An amount of memory in the unit that keeps it whole."""
    tenths = mib * 10 % MIB_PER_GIB == 0
    return f"{mib / MIB_PER_GIB:g} GiB" if tenths else f"{mib:.0f} MiB"


def insufficiency(lacking: Mapping[str, tuple[float, float]]) -> str:
    """Say why no scheduler binds the pod."""
    parts = []
    for resource, (asked, offered) in lacking.items():
        unit = _UNITS[resource]
        if resource in ("cpu", "nvidia.com/gpu"):
            parts.append(f"{offered:g} of the {asked:g} {unit}")
        else:
            parts.append(f"{memory(offered)} of the {memory(asked)} {unit}")
    return f"the node offers {' and '.join(parts)} asked for, so the pod is never scheduled there"


def unlaunchable(asked: float, offered: float) -> str:
    """Say why Karpenter rents no machine for the memory that a pod asks for."""
    return (
        f"Karpenter counts {memory(offered)} for pods on a machine that it has not rented yet, and "
        f"rents none for {memory(asked)}"
    )


def verdict(node: EmptyNode, outcome: KubeletOutcome) -> str:
    """Say why kubelet admits the pod or not."""
    if outcome.reason:
        return _refusal(node, outcome)
    if len(node.cells) == 1:
        return "the machine has one NUMA node, so everything is on it"
    if node.policy == "none":
        return "policy none takes what fits the machine and aligns nothing"
    if all(share.aligned for share in outcome.shares):
        used = sorted({numa for share in outcome.shares for numa in share.hint})
        return f"everything is on {_nodes(used)}" if used else "any NUMA node will do"
    return f"{node.policy} takes it, but not aligned: {', '.join(_needs(outcome))}"


def _refusal(node: EmptyNode, outcome: KubeletOutcome) -> str:
    if outcome.reason == NO_START:
        return f"kubelet does not start: {outcome.message}"
    if outcome.reason == AFFINITY:
        return _misfit(node, outcome)
    if outcome.reason == "SMTAlignmentError":
        return (
            f"full-pcpus-only gives out whole cores of {node.cpus_per_core} threads, and kubelet "
            f"says: {outcome.message}"
        )
    return f"kubelet agrees on NUMA nodes and then fails the pod: {outcome.message}"


def _misfit(node: EmptyNode, outcome: KubeletOutcome) -> str:
    needs = ", ".join(_needs(outcome))
    if node.policy == "single-numa-node":
        return f"single-numa-node wants one NUMA node that has everything, but {needs}"
    return f"restricted wants the same smallest set of NUMA nodes for everything, but {needs}"


def _needs(outcome: KubeletOutcome) -> list[str]:
    labels = _labels(outcome.asked)
    return [
        f"{labels[resource]} {_need(hints[0])}"
        for resource, hints in outcome.hints.items()
        if hints and hints[0] != {None: True}
    ]


def _labels(asked: ContainerRequest) -> dict[str, str]:
    pages = [
        f"{count} pages of {size}"
        for count, size in ((asked.hugepages_1gi, "1 GiB"), (asked.hugepages_2mi, "2 MiB"))
        if count
    ]
    return {
        "gpus": f"{asked.gpus} GPU{'s' if asked.gpus != 1 else ''}",
        "cpus": f"{asked.cpus:g} CPU{'s' if asked.cpus != 1 else ''}",
        "memory": " with ".join([f"{memory(asked.memory_mib)} of memory", *pages]),
    }


def _need(hints: Hints) -> str:
    sets = [mask for mask in hints if mask]
    preferred = [mask for mask in sets if hints[mask]]
    if not sets:
        return "cannot be had on any NUMA nodes"
    if not preferred:
        fewest = min(mask.bit_count() for mask in sets)
        return (
            f"need {fewest} NUMA nodes, but kubelet, which counts reserved and used ones too, "
            "wants fewer"
        )
    if len(preferred) == 1:
        nodes = bits(preferred[0])
        return f"{'need' if len(nodes) > 1 else 'fit only'} {_nodes(nodes)}"
    size = preferred[0].bit_count()
    if size > 1:
        return f"need {size} NUMA nodes"
    return f"fit one of the NUMA nodes {format_list(bits(sum(preferred)))}"


def _nodes(nodes: Sequence[int]) -> str:
    return f"NUMA node{'s' if len(nodes) > 1 else ''} {format_list(nodes)}"
