"""A GPU pod must have a shape that the kubelets of its pool can ever admit.

Where a pool's Topology Manager wants one NUMA node for a pod, a pod with more GPUs, CPUs, memory or
huge pages than a node has fails on every machine (`TopologyAffinityError`) and is made again for
ever; where CPUs are given out by whole cores, so does one with half a core (`SMTAlignmentError`).
The rule treats the pod as Guaranteed, as numa/guaranteed-qos requires. Its message names the
largest shape that is admitted, with huge pages where the pod asks for some. On a pool without
GPUs, or with MIG instances in their place, no pod with `nvidia.com/gpu` ever runs.
"""

from collections.abc import Mapping

from policies.language import cel
from policies.language.cel_forms import Fault, of_pods
from policies.language.facts import Shape
from policies.language.manifest import quantity
from policies.language.pods import Pod, asked
from policies.language.pool_table import (
    MIB,
    Column,
    amount,
    asking_pods,
    cel_amount,
    cel_text,
    facts,
    names_resource,
    no_pool_fits,
    open_to,
    pod_violations,
    selected,
    total,
)
from policies.language.quantities import readable_pods
from policies.language.rule import Manifest, Rule, Settings
from settings.names import GPU

_SAYS = (
    "at most {gpus} GPUs, {cpus} CPUs in multiples of {cpus_in_multiples_of} and {memory_mib}Mi of "
    "memory on pool '{name}'"
)
_SAYS_PAGES = (
    "at most {gpus} GPUs, {cpus} CPUs in multiples of {cpus_in_multiples_of}, {memory_mib}Mi of "
    "memory, {hugepages_1gi_mib}Mi of hugepages-1Gi and {hugepages_2mi_mib}Mi of hugepages-2Mi on "
    "pool '{name}'"
)
_NONE = f"must ask for no {GPU} on pool '{{name}}', which has none."
_COLUMNS = [
    Column(name="gpus", resource=GPU),
    Column(name="cpus", resource="cpu"),
    Column(name="memory", resource="memory"),
    Column(name="pages_1gi", resource="hugepages-1Gi"),
    Column(name="pages_2mi", resource="hugepages-2Mi"),
]
_TRIFLE = 0.0005
_COUNTABLE = 1e9


class _Offer(Shape):
    """A shape with the name of its pool."""

    name: str


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Return why pods with GPUs fit no machine of their pool."""
    if not facts(settings)["pools"]:
        return []
    return pod_violations(manifest, readable_pods(manifest), lambda pod: _fault(pod, settings))


def _fault(pod: Pod, settings: Settings) -> str | None:
    if not names_resource(pod, [GPU]):
        return None
    wanted = {each.name: total(pod, each.resource) for each in _COLUMNS}
    if wanted["gpus"] <= 0:
        return None
    found = open_to(settings, selected(pod))
    if selected(pod) and any(not pool["shapes"] for pool in found):
        return _NONE.format(name=selected(pod))
    says = _SAYS_PAGES if wanted["pages_1gi"] + wanted["pages_2mi"] > 0 else _SAYS
    offers = [_Offer(name=pool["name"], **shape) for pool in found for shape in pool["shapes"]]
    return no_pool_fits(offers, lambda shape: _fits(pod, wanted, shape), says)


def _fits(pod: Pod, wanted: Mapping[str, float], shape: Shape) -> bool:
    return (
        wanted["gpus"] <= shape["gpus"]
        and wanted["cpus"] <= shape["cpus"] + _TRIFLE
        and wanted["memory"] <= shape["memory_mib"] * MIB
        and wanted["pages_1gi"] <= shape["hugepages_1gi_mib"] * MIB
        and wanted["pages_2mi"] <= shape["hugepages_2mi_mib"] * MIB
        and all(_in_cores(each, shape["cpus_in_multiples_of"]) for each in pod.containers)
    )


def _in_cores(container: Mapping[str, object], threads: int) -> bool:
    """Return whether whole CPUs are whole cores; a fraction of a CPU comes from the shared ones."""
    found = quantity(asked(container, "cpu") or 0)
    cpus = amount(container, "cpu")
    return found is None or cpus >= _COUNTABLE or bool(found % 1) or int(cpus) % threads == 0


def _cel_faults() -> list[Fault]:
    """The pod is `p`, a pool `e` and a shape of it `s`."""
    of_shape = {key: f"string(s.{key})" for key in Shape.__annotations__}
    cpus = cel_amount("c", "'cpu'")
    in_cores = (
        f"[{cpus}].all(n, n >= {_COUNTABLE:.1f} || double(int(n)) != n || "
        "int(n) % s.cpus_in_multiples_of == 0)"
    )
    fits = (
        f"p.total.gpus <= double(s.gpus) && p.total.cpus <= double(s.cpus) + {_TRIFLE} && "
        f"p.total.memory <= double(s.memory_mib) * {MIB}.0 && "
        f"p.total.pages_1gi <= double(s.hugepages_1gi_mib) * {MIB}.0 && "
        f"p.total.pages_2mi <= double(s.hugepages_2mi_mib) * {MIB}.0 && "
        f"p.containers.all(c, {in_cores})"
    )
    says = (
        f"(p.total.pages_1gi + p.total.pages_2mi > 0.0 ? {cel_text(_SAYS_PAGES, **of_shape)} : "
        f"{cel_text(_SAYS, **of_shape)})"
    )
    return [
        Fault(
            broken="p.pool != '' && p.pools.exists(e, size(e.shapes) == 0)",
            says=cel.text(_NONE, name="p.pool"),
        ),
        Fault(
            broken=(
                "p.pools.exists(e, size(e.shapes) > 0) && "
                f"!p.pools.exists(e, e.shapes.exists(s, {fits}))"
            ),
            says=(
                "'must ask for ' + p.pools.filter(e, size(e.shapes) > 0)"
                f".map(e, e.shapes.map(s, {says}).join(' or ')).join(' or ') + '.'"
            ),
        ),
    ]


RULE = Rule(
    id="numa/admissible-shape",
    sentence="A GPU pod must have a shape that its pool's NUMA plan can admit.",
    why=(
        "The kubelet fails a pod that fits no NUMA node as its policy wants, or that takes half a "
        "core, and its controller makes the next one, which fails on the same machine."
    ),
    source="https://kubernetes.io/docs/tasks/administer-cluster/topology-manager/",
    predicate=violations,
    admission=of_pods(
        "variables.asking.filter(p, p.total.gpus > 0.0)",
        _cel_faults(),
        variables={"asking": asking_pods(_COLUMNS, of=[GPU])},
    ),
)
