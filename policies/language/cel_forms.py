"""CEL forms beside those of `cel`: the faults of an object, and which pods ask for GPUs."""

from collections.abc import Mapping, Sequence

from policies.language.cel import DESCRIBED, RESOURCES, Fault
from policies.language.rule import Admission, Kind

_IS_GPU = "(k.startsWith('nvidia.com/gpu') || k.startsWith('nvidia.com/mig-'))"
ASKS_FOR_GPUS = (
    f"p.containers.exists(c, {RESOURCES}.exists(r, "
    f"r.exists(k, {_IS_GPU} && '%s'.format([r[k]]) != '0')))"
)
"""Whether a pod `p` asks for whole GPUs or parts of them: `gpu_work.asks_for_gpus` in CEL."""
GPU_PODS = f"variables.pods.filter(p, {ASKS_FOR_GPUS})"
"""The pods of `cel.PODS` that do."""


def of_object(
    kinds: Sequence[Kind], applies: str, faults: Sequence[Fault], variables: Mapping[str, str]
) -> Admission:
    """An object of which `applies` holds must have none of the faults.

    The message is `<object> <what the first fault says>`.
    """
    return Admission(
        kinds=tuple(kinds),
        variables=variables,
        holds=f"!({applies}) || !({_any(faults)})",
        message=f"{DESCRIBED} + ' ' + ({_first(faults)})",
    )


def pods_or_object(
    kinds: Sequence[Kind], of_object: Sequence[Fault], of_pods: Admission
) -> Admission:
    """A form for pods and for other kinds: an object must have no fault of its own either."""
    return Admission(
        kinds=tuple(kinds),
        variables=of_pods.variables,
        holds=f"!({_any(of_object)}) && ({of_pods.holds})",
        message=(
            f"(({_any(of_object)}) ? {DESCRIBED} + ' ' + ({_first(of_object)}) : {of_pods.message})"
        ),
    )


def _any(faults: Sequence[Fault]) -> str:
    return " || ".join(f"({fault.broken})" for fault in faults)


def _first(faults: Sequence[Fault]) -> str:
    said = "".join(f"({fault.broken}) ? {fault.says} : " for fault in faults[:-1])
    return said + faults[-1].says
