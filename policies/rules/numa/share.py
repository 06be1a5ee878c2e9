"""A GPU pod must take no more CPUs and memory for a GPU than its NUMA node has for each.

What one pod takes beyond its share is missing beside the other GPUs of the node: they stay idle, or
their pods run on CPUs of the other NUMA node. A share is what pods may have of a NUMA node, divided
by its GPUs.
"""

from collections.abc import Sequence

from policies.language import cel
from policies.language.pods import GPU, Pod, pods, subject
from policies.language.pool_table import (
    MIB,
    Column,
    Malformed,
    asks,
    cel_lines,
    cel_misfit,
    filled,
    misfit,
    schema,
    selected,
    speaks,
    total,
)
from policies.language.rule import Manifest, Rule, Settings

_ID = "numa/share"
_SAYS = "at most {1} CPUs and {2}Mi of memory for each GPU on pool '{0}'"
_TRIFLE = 0.0005


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns what pods with GPUs take beyond the share of their GPUs."""
    if not settings["pools"]:
        return []
    told = []
    for pod in pods(manifest):
        try:
            fault = _fault(pod, settings)
        except Malformed as resource:
            fault = f"must have a well-formed quantity of {resource}."
        if fault:
            told.append(f"{subject(manifest, pod)} {fault}")
    return told


def _fault(pod: Pod, settings: Settings) -> str | None:
    if not speaks(pod, [GPU]):
        return None
    gpus, cpus, memory = (total(pod, each) for each in (GPU, "cpu", "memory"))
    if gpus <= 0:
        return None

    def fits(facts: Sequence[str]) -> bool:
        within = gpus * float(facts[1]) + _TRIFLE
        return cpus <= within and memory <= gpus * float(facts[2]) * MIB

    return misfit(settings, selected(pod), fits, _SAYS)


RULE = Rule(
    id=_ID,
    sentence="A GPU pod must stay within its GPUs' share of the CPUs and memory of a NUMA node.",
    why=(
        "CPUs or memory that one pod takes beyond its share are missing beside the other GPUs of "
        "the NUMA node, which then stay idle or work across the sockets."
    ),
    source="https://kubernetes.io/docs/tasks/administer-cluster/topology-manager/",
    schema=schema(
        "( [0-9]+){2}",
        "Of each pool its name, then the share of a GPU: CPUs and MiB of memory.",
    ),
    predicate=violations,
    admission=cel.of_pods(
        "variables.asks.filter(p, p.gpus > 0.0)",
        [
            cel_misfit(
                f"p.cpus <= p.gpus * double(e[1]) + {_TRIFLE} && "
                f"p.memory <= p.gpus * double(e[2]) * {MIB}.0",
                filled(_SAYS),
            )
        ],
        variables={
            "lines": cel_lines(_ID),
            "asks": asks(
                [
                    Column(name="gpus", resource=GPU),
                    Column(name="cpus", resource="cpu"),
                    Column(name="memory", resource="memory"),
                ],
                of=[GPU],
            ),
        },
    ),
)
