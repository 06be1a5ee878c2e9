"""A GPU pod must have a shape that the kubelets of its pool can ever admit.

Where a pool's Topology Manager wants one NUMA node for a pod, a pod with more GPUs, CPUs or memory
than a node has fails on every machine (`TopologyAffinityError`) and is made again for ever; where
CPUs are given out by whole cores, so does one with half a core (`SMTAlignmentError`). The pod is
judged as the Guaranteed pod that numa/guaranteed-qos wants. The sentence tells the largest shape
that is admitted: what a pod asks for beyond it must go, and the rest may stay. On a pool without
GPUs, or with instances of MIG in their place, no pod with `nvidia.com/gpu` ever runs.
"""

from collections.abc import Mapping, Sequence

from policies.rules import cel
from policies.rules.manifest import quantity
from policies.rules.pods import GPU, Pod, asked, pods, subject
from policies.rules.pool_table import (
    MIB,
    Column,
    Malformed,
    amount,
    asks,
    cel_amount,
    cel_lines,
    cel_misfit,
    filled,
    lines,
    misfit,
    schema,
    selected,
    speaks,
    total,
)
from policies.rules.rule import Manifest, Rule, Settings

_ID = "numa/admissible-shape"
_SAYS = "at most {1} GPUs, {2} CPUs in multiples of {4} and {3}Mi of memory on pool '{0}'"
_NONE = f"must ask for no {GPU} on pool '{{0}}', which has none."
_TRIFLE = 0.0005
_COUNTABLE = 1e9


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns what keeps the pods with GPUs from every machine of their pool."""
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
        return (
            gpus <= float(facts[1])
            and cpus <= float(facts[2]) + _TRIFLE
            and memory <= float(facts[3]) * MIB
            and all(_in_cores(each, int(facts[4])) for each in pod.containers)
        )

    pool = selected(pod)
    having = [line for line in lines(settings, "") if line[1] != "0"]
    if pool and any(line[1] == "0" for line in lines(settings, pool)):
        return _NONE.format(pool)
    return misfit({"pools": [" ".join(line) for line in having]}, pool, fits, _SAYS)


def _in_cores(container: Mapping[str, object], threads: int) -> bool:
    """Whether whole CPUs are whole cores; a fraction of a CPU comes from the shared ones."""
    found = quantity(asked(container, "cpu") or 0)
    cpus = amount(container, "cpu")
    return found is None or cpus >= _COUNTABLE or bool(found % 1) or int(cpus) % threads == 0


def _cel() -> str:
    cpus = cel_amount("c", "cpu")
    in_cores = (
        f"[{cpus}].all(n, n >= {_COUNTABLE:.1f} || double(int(n)) != n || int(n) % int(e[4]) == 0)"
    )
    return (
        f"p.gpus <= double(e[1]) && p.cpus <= double(e[2]) + {_TRIFLE} && "
        f"p.memory <= double(e[3]) * {MIB}.0 && p.containers.all(c, {in_cores})"
    )


RULE = Rule(
    id=_ID,
    sentence="A GPU pod must have a shape that its pool's NUMA plan can admit.",
    why=(
        "The kubelet fails a pod that fits no NUMA node as its policy wants, or that takes half a "
        "core, and its controller makes the next one, which fails on the same machine."
    ),
    source="https://kubernetes.io/docs/tasks/administer-cluster/topology-manager/",
    schema=schema(
        "( [0-9]+){4}",
        "Of each pool its name, then the largest pod: GPUs, CPUs, MiB of memory, and the threads "
        "of a core where whole cores are given out, else 1. Without whole GPUs all but that are 0.",
    ),
    predicate=violations,
    admission=cel.of_pods(
        "variables.asks.filter(p, p.gpus > 0.0)",
        [
            cel.Fault(
                broken="variables.lines.exists(e, e[0] == p.pool && e[1] == '0')",
                says=f"[[p.pool]].map(e, {filled(_NONE)})[0]",
            ),
            cel_misfit(_cel(), filled(_SAYS), known="variables.having"),
        ],
        variables={
            "lines": cel_lines(_ID),
            "having": "variables.lines.filter(e, e[1] != '0')",
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
