"""Tells pods that ask for whole GPUs from pods on nodes where `nvidia.com/gpu` is a part of one.

A pod selects such nodes by `fleet.gpu/sharing`, or by `fleet.gpu/pool` of a pool that shares its
GPUs.
"""

from policies.language import cel
from policies.language.manifest import at, is_some
from policies.language.pods import Pod, asked
from policies.language.pool_table import SELECTED, open_to, selected
from policies.language.rule import Settings
from settings.names import GPU, SHARING_LABEL

_MODES = ("mig", "time-slicing", "mps")


def asks_whole(pod: Pod) -> bool:
    """Return whether a container asks for `nvidia.com/gpu`."""
    amounts = [asked(container, GPU) for container in pod.containers]
    return any(map(is_some, amounts))


def is_shared(pod: Pod, settings: Settings) -> bool:
    """Return whether the nodes that a pod selects hand out parts of GPUs."""
    pool = selected(pod)
    return at(pod.spec, "nodeSelector", SHARING_LABEL) in _MODES or any(
        each["shares_gpus"] for each in open_to(settings, pool) if pool
    )


_ASKED = cel.asked("c", GPU)
ASKS_WHOLE = f"p.containers.exists(c, {_ASKED}.hasValue() && {cel.is_some(f'{_ASKED}.value()')})"
"""CEL: `asks_whole` of a pod `p`."""
IS_SHARED = (
    f"(p.spec.?nodeSelector[?'{SHARING_LABEL}'].orValue('') in {list(_MODES)} || "
    f"variables.pools.exists(e, e.shares_gpus && e.name == {SELECTED}))"
)
"""CEL: `is_shared` of a pod `p`."""
