"""The forms of a rule at the API server: what must hold of an object, its pods, its containers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from policies.language.cel import PODS, RESOURCES, is_some
from policies.language.commands import COMMANDS, cel_are_read
from policies.language.pods import KINDS
from policies.language.rule import Admission, Kind

IS_GPU = "(k.startsWith('nvidia.com/gpu') || k.startsWith('nvidia.com/mig-'))"
"""CEL: whether a text `k` names a resource of `pod_search.GPU_RESOURCES`."""
CONTAINER_ASKS_FOR_GPUS = f"{RESOURCES}.exists(r, r.exists(k, {IS_GPU} && {is_some('r[k]')}))"
"""CEL: whether there is some of `gpu_work.asked_gpus` of a container `c`."""
ASKS_FOR_GPUS = f"p.containers.exists(c, {CONTAINER_ASKS_FOR_GPUS})"
"""CEL: `gpu_work.asks_for_gpus` of a pod `p`."""
WITH_GPUS: Mapping[str, str] = {
    **PODS,
    "gpuPods": f"variables.pods.filter(p, {ASKS_FOR_GPUS})",
    "reads": cel_are_read("variables.gpuPods"),
}
"""Variables: the pods, those among them that ask for GPUs, and whether these' commands are read."""
GPU_PODS = "variables.gpuPods"
READ_COMMANDS = f"(variables.reads ? {COMMANDS} : [])"
"""CEL: the commands of a container `c` of a pod with GPUs, as far as they are read."""
CONTAINERS = "p.containers"
EVERY_CONTAINER = "(p.containers + p.spec.?ephemeralContainers.orValue([]))"
"""The containers of a pod `p` with those that somebody puts into it while it runs."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Something that can be wrong: when, and CEL of what is said behind the name of the thing."""

    broken: str
    says: str


def of_object(
    kinds: Sequence[Kind],
    applies: str,
    faults: Sequence[Fault],
    shared: Mapping[str, str] | None = None,
) -> Admission:
    """An object of which `applies` holds must have none of the faults."""
    said = f"({applies}) ? ({_behind_a_blank(faults)}) : ''"
    return Admission(kinds=tuple(kinds), shared=shared or {}, fault=said)


def of_pods(
    things: str,
    faults: Sequence[Fault],
    *,
    shared: Mapping[str, str] = WITH_GPUS,
    variables: Mapping[str, str] | None = None,
) -> Admission:
    """Each of the things (a CEL list of maps with the `name` of a pod) must have no fault.

    A fault speaks of `p`. What is said is `[, '<pod>'] <the first fault of the first pod>`.
    """
    said = (
        f"(({things}).map(p, {{'name': dyn(p.name), 'fault': dyn({_first(faults)})}})"
        f".filter(f, f.fault != '').map(f, {_pod('f')} + ' ' + f.fault) + [''])[0]"
    )
    return Admission(kinds=KINDS, shared=shared, variables=variables or {}, fault=said)


def of_containers(pods: str, faults: Sequence[Fault], *, containers: str = CONTAINERS) -> Admission:
    """Each container of the pods (a CEL list) must have none of the faults.

    A fault speaks of the container `c`. What is said is
    `[, '<pod>']: container '<name>' <its first fault>`.
    """
    of_pod = (
        f"{containers}.map(c, {{'name': dyn(c.?name.orValue('')), "
        f"'fault': dyn({_first(faults)})}}).filter(f, f.fault != '')"
    )
    said = (
        f"(({pods}).map(p, {{'name': dyn(p.name), 'faults': dyn({of_pod})}})"
        f'.filter(p, size(p.faults) > 0).map(p, {_pod("p")} + ": container \'" + '
        "p.faults[0].name + \"' \" + p.faults[0].fault) + [''])[0]"
    )
    return Admission(kinds=KINDS, shared=WITH_GPUS, fault=said)


def pods_or_object(
    kinds: Sequence[Kind], of_object: Sequence[Fault], of_pods: Admission
) -> Admission:
    """A form for pods and for other kinds: an object must have no fault of its own either."""
    own = _behind_a_blank(of_object)
    return Admission(
        kinds=tuple(kinds),
        shared=of_pods.shared,
        variables=of_pods.variables,
        fault=f"[{own}].map(own, own == '' ? {of_pods.fault} : own)[0]",
    )


def _pod(thing: str) -> str:
    """CEL of the name of a pod behind the name of its object."""
    return f"({thing}.name == '' ? '' : \", '\" + {thing}.name + \"'\")"


def _first(faults: Sequence[Fault]) -> str:
    return "".join(f"({each.broken}) ? ({each.says}) : " for each in faults) + "''"


def _behind_a_blank(faults: Sequence[Fault]) -> str:
    return _first([Fault(broken=each.broken, says=f"' ' + ({each.says})") for each in faults])
