"""A pod that uses a part of a GPU must ask for a part of one.

The annotation `fleet.gpu/gpu-fraction` declares which part of each of its GPUs a pod uses, such as
0.25. Where that is at most `max_fraction`, `nvidia.com/gpu` must be a time-slice (the pod selects a
shared pool, or nodes by `fleet.gpu/sharing`), or the pod asks for a MIG device instead.
"""

import re
from typing import cast

from policies.language import cel
from policies.language.annotations import FRACTION
from policies.language.cel_forms import Fault, of_pods
from policies.language.pods import Pod, pods
from policies.language.pool_table import pod_violations
from policies.language.rule import Manifest, Rule, Settings
from policies.language.shared_gpus import ASKS_WHOLE, IS_SHARED, asks_whole, is_shared

ID = "idle/fraction"
_FORM = re.compile(r"0\.[0-9]{1,4}|1|1\.0{1,4}")
_NO_NUMBER = f"must have as annotation {FRACTION} a number above 0 and at most 1, such as 0.25."
_WHOLE = (
    "must ask for a MIG device or a time-slice, not for a whole GPU, of which it uses a part by "
    f"its annotation {FRACTION}."
)


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns the pods that hold whole GPUs and say that they use a part."""
    declaring = (pod for pod in pods(manifest) if FRACTION in pod.annotations)
    return pod_violations(manifest, declaring, lambda pod: _fault(pod, settings))


def _fault(pod: Pod, settings: Settings) -> str | None:
    said = str(pod.annotations[FRACTION])
    if not _FORM.fullmatch(said) or float(said) == 0:
        return _NO_NUMBER
    small = float(said) <= cast("float", settings["max_fraction"])
    return _WHOLE if small and asks_whole(pod) and not is_shared(pod, settings) else None


_SAID = f"'%s'.format([p.annotations['{FRACTION}']])"
_CEL_FORM = cel.literal(f"^({_FORM.pattern})$")
_SMALL = f"double({_SAID}) <= double({cel.setting(ID, 'max_fraction')})"

RULE = Rule(
    id=ID,
    sentence="A pod that uses a part of a GPU must ask for a MIG device or a time-slice.",
    why=(
        "A GPU that is used to a quarter costs what a whole one costs, and three more pods could "
        "have run on it."
    ),
    source="https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-sharing.html",
    schema={
        "max_fraction": {
            "type": "number",
            "minimum": 0,
            "maximum": 1,
            "default": 0.5,
            "description": "The largest part of a GPU for which a whole one is refused.",
        },
    },
    predicate=violations,
    admission=of_pods(
        f"variables.pods.filter(p, p.annotations[?'{FRACTION}'].hasValue())",
        [
            Fault(
                broken=f"(!{_SAID}.matches({_CEL_FORM}) || double({_SAID}) == 0.0)",
                says=cel.literal(_NO_NUMBER),
            ),
            Fault(
                broken=f"({_SMALL} && {ASKS_WHOLE} && !{IS_SHARED})",
                says=cel.literal(_WHOLE),
            ),
        ],
    ),
)
