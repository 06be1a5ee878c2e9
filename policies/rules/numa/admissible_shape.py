"""A GPU pod must have a shape that the kubelets of its pool can ever admit.

Where a pool's Topology Manager wants one NUMA node for a pod, a pod with more GPUs, CPUs, memory or
huge pages than a node has fails on every machine (`TopologyAffinityError`) and is made again for
ever; where CPUs are given out by whole cores, so does one with half a core (`SMTAlignmentError`).
The pod is judged as the Guaranteed pod that numa/guaranteed-qos wants. The sentence tells the
largest shape that is admitted, its huge pages to who asks for some: what a pod asks for beyond it
must go, and the rest may stay. On a pool without GPUs, or with instances of MIG in their place, no
pod with `nvidia.com/gpu` ever runs.
"""

from collections.abc import Mapping, Sequence

from policies.language import cel
from policies.language.manifest import quantity
from policies.language.pods import GPU, Pod, asked, pods, subject
from policies.language.pool_table import (
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
from policies.language.rule import Manifest, Rule, Settings

_ID = "numa/admissible-shape"
_SAYS = "at most {1} GPUs, {2} CPUs in multiples of {4} and {3}Mi of memory on pool '{0}'"
_SAYS_PAGES = (
    "at most {1} GPUs, {2} CPUs in multiples of {4}, {3}Mi of memory, {5}Mi of hugepages-1Gi and "
    "{6}Mi of hugepages-2Mi on pool '{0}'"
)
_NONE = f"must ask for no {GPU} on pool '{{0}}', which has none."
_RESOURCES = (GPU, "cpu", "memory", "hugepages-1Gi", "hugepages-2Mi")
_COLUMNS = ("gpus", "cpus", "memory", "gib", "mib")
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
    gpus, cpus, memory, gib, mib = (total(pod, each) for each in _RESOURCES)
    if gpus <= 0:
        return None

    def fits(facts: Sequence[str]) -> bool:
        return (
            gpus <= float(facts[1])
            and cpus <= float(facts[2]) + _TRIFLE
            and memory <= float(facts[3]) * MIB
            and gib <= float(facts[5]) * MIB
            and mib <= float(facts[6]) * MIB
            and all(_in_cores(each, int(facts[4])) for each in pod.containers)
        )

    pool = selected(pod)
    having = [line for line in lines(settings, "") if line[1] != "0"]
    if pool and any(line[1] == "0" for line in lines(settings, pool)):
        return _NONE.format(pool)
    says = _SAYS_PAGES if gib + mib > 0 else _SAYS
    return misfit({"pools": [" ".join(line) for line in having]}, pool, fits, says)


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
        f"p.memory <= double(e[3]) * {MIB}.0 && p.gib <= double(e[5]) * {MIB}.0 && "
        f"p.mib <= double(e[6]) * {MIB}.0 && p.containers.all(c, {in_cores})"
    )


_CEL_SAYS = f"(p.gib + p.mib > 0.0 ? {filled(_SAYS_PAGES)} : {filled(_SAYS)})"


RULE = Rule(
    id=_ID,
    sentence="A GPU pod must have a shape that its pool's NUMA plan can admit.",
    why=(
        "The kubelet fails a pod that fits no NUMA node as its policy wants, or that takes half a "
        "core, and its controller makes the next one, which fails on the same machine."
    ),
    source="https://kubernetes.io/docs/tasks/administer-cluster/topology-manager/",
    schema=schema(
        "( [0-9]+){6}",
        "Of each pool its name, then the largest pod: GPUs, CPUs, MiB of memory beside huge pages, "
        "the threads of a core where whole cores are given out, else 1, and MiB of 1 GiB pages and "
        "of 2 MiB pages. Without whole GPUs all but the threads are 0.",
    ),
    predicate=violations,
    admission=cel.of_pods(
        "variables.asks.filter(p, p.gpus > 0.0)",
        [
            cel.Fault(
                broken="variables.lines.exists(e, e[0] == p.pool && e[1] == '0')",
                says=f"[[p.pool]].map(e, {filled(_NONE)})[0]",
            ),
            cel_misfit(_cel(), _CEL_SAYS, known="variables.having"),
        ],
        variables={
            "lines": cel_lines(_ID),
            "having": "variables.lines.filter(e, e[1] != '0')",
            "asks": asks(
                [
                    Column(name=name, resource=resource)
                    for name, resource in zip(_COLUMNS, _RESOURCES, strict=True)
                ],
                of=[GPU],
            ),
        },
    ),
)
