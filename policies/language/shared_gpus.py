"""Whether a pod asks for whole GPUs, or for `nvidia.com/gpu` on nodes that hand out parts of them.

A pod says so by the node selector `fleet.gpu/sharing`, or by `fleet.gpu/pool` of a pool that the
setting `shared_pools` names.
"""

from collections.abc import Mapping

from policies.language import cel
from policies.language.manifest import at, items
from policies.language.pods import GPU, Pod, asked
from policies.language.rule import Settings

_POOL = "fleet.gpu/pool"
_SHARING = "fleet.gpu/sharing"
_MODES = ("mig", "time-slicing", "mps")


def pools_schema() -> Mapping[str, Mapping[str, object]]:
    """The schema of the setting `shared_pools`."""
    return {
        "shared_pools": {
            "type": "array",
            "items": {"type": "string", "pattern": "^[a-z0-9-]+$"},
            "default": [],
            "description": "Pools that hand out parts of GPUs; the environment's own are known.",
        }
    }


def asks_whole(pod: Pod) -> bool:
    """Whether a container asks for `nvidia.com/gpu`."""
    amounts = [asked(container, GPU) for container in pod.containers]
    return any(amount is not None and str(amount) != "0" for amount in amounts)


def is_shared(pod: Pod, settings: Settings) -> bool:
    """Whether the nodes that a pod selects hand out parts of GPUs."""
    selector = at(pod.spec, "nodeSelector")
    return at(selector, _SHARING) in _MODES or at(selector, _POOL) in items(
        settings["shared_pools"]
    )


_ASKED = cel.asked("c", GPU)
ASKS_WHOLE = (
    f"p.containers.exists(c, {_ASKED}.hasValue() && '%s'.format([{_ASKED}.value()]) != '0')"
)
"""CEL: `asks_whole` of a pod `p`."""


def cel_is_shared(rule_id: str) -> str:
    """CEL: `is_shared` of a pod `p`."""
    selector = "p.spec.?nodeSelector"
    return (
        f"({selector}[?'{_SHARING}'].orValue('') in {list(_MODES)} || "
        f"{selector}[?'{_POOL}'].orValue('-') in {cel.setting(rule_id, 'shared_pools')}.split(','))"
    )
