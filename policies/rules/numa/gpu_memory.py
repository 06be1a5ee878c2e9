"""The GPU memory that a pod declares must fit the MIG instance or GPU that it asks for.

A pod declares what it needs of each GPU or instance by the annotation `fleet.gpu/gpu-memory`, such
as `60Gi`. An instance of MIG has the memory that its profile names, in GB: 18 of
`nvidia.com/mig-1g.18gb`. A GPU has what its pool hands out: all of it, or its part where the pool
hands out each GPU repeatedly. A pod without the annotation is not judged.
"""

import re
from collections.abc import Iterator

from policies.language import cel
from policies.language.cel_forms import GPU_PODS, Fault, of_pods
from policies.language.gpu_work import asked_gpus, gpu_pods
from policies.language.manifest import quantity
from policies.language.pods import Pod
from policies.language.pool_table import (
    MIB,
    cel_asks_for,
    cel_no_pool_fits,
    cel_text,
    no_pool_fits,
    open_to,
    pod_violations,
    selected,
    with_pools,
)
from policies.language.rule import Manifest, Rule, Settings
from settings.names import GPU, PREFIX

_DECLARED = f"{PREFIX}/gpu-memory"
_PROFILE = re.compile(r"nvidia\.com/mig-[0-9]+g\.([0-9]{1,4})gb")
_GB = 10**9
_MALFORMED = f"must have a quantity of memory such as 60Gi in its annotation {_DECLARED}."
_LARGER = f"must ask for MIG instances with the memory of its annotation {_DECLARED} or more."
_MUST = f"must have in its annotation {_DECLARED}"
_SAYS = "at most {gpu_memory_mib}Mi for a GPU of pool '{name}'"


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns the pods that need more GPU memory than what they ask for has."""
    return pod_violations(manifest, gpu_pods(manifest), lambda pod: _fault(pod, settings))


def _fault(pod: Pod, settings: Settings) -> str | None:
    declared = pod.annotations.get(_DECLARED)
    if declared is None:
        return None
    wanted = quantity(declared)
    if wanted is None or wanted <= 0:
        return _MALFORMED
    if any(wanted > size * _GB for size in _instances(pod)):
        return _LARGER
    if GPU not in _asked(pod):
        return None
    known = [pool for pool in open_to(settings, selected(pod)) if "gpu_memory_mib" in pool]
    return no_pool_fits(known, lambda pool: wanted <= pool["gpu_memory_mib"] * MIB, _SAYS, _MUST)


def _asked(pod: Pod) -> set[str]:
    return {name for container in pod.containers for name, _ in asked_gpus(container)}


def _instances(pod: Pod) -> Iterator[int]:
    """The GB of each profile of MIG that the pod asks for."""
    for name in _asked(pod):
        found = _PROFILE.match(name)
        if found:
            yield int(found[1])


_VALUE = f"'%s'.format([p.annotations['{_DECLARED}']])"
_SIZE = "k.find('[0-9]+gb').replace('gb', '000000000')"
_SMALLER = (
    "k.matches('^nvidia[.]com/mig-[0-9]+g[.][0-9]{1,4}gb') && "
    f"quantity({_VALUE}).isGreaterThan(quantity({_SIZE}))"
)
_IS_GPU = f"k == '{GPU}'"
_TOO_LARGE = cel_no_pool_fits(
    f"!quantity({_VALUE}).isGreaterThan(quantity(string(e.gpu_memory_mib) + 'Mi'))",
    cel_text(_SAYS),
    _MUST,
)

RULE = Rule(
    id="numa/gpu-memory",
    sentence="The GPU memory that a pod declares must fit the MIG instance or GPU it asks for.",
    why=(
        "A program that needs more memory than its instance has ends without memory when its "
        "model is loaded, and its instance stood ready for nothing."
    ),
    source="https://docs.nvidia.com/datacenter/tesla/mig-user-guide/supported-mig-profiles.html",
    predicate=violations,
    admission=of_pods(
        with_pools(
            f"{GPU_PODS}.filter(p, p.annotations[?'{_DECLARED}'].hasValue())",
            "has(e.gpu_memory_mib)",
        ),
        [
            Fault(
                broken=(
                    f"!(isQuantity({_VALUE}) && quantity({_VALUE}).isGreaterThan(quantity('0')))"
                ),
                says=cel.literal(_MALFORMED),
            ),
            Fault(broken=cel_asks_for(_SMALLER), says=cel.literal(_LARGER)),
            Fault(broken=f"{cel_asks_for(_IS_GPU)} && {_TOO_LARGE.broken}", says=_TOO_LARGE.says),
        ],
    ),
)
