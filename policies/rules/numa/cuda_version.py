"""The CUDA that an image declares must run with the driver of the pool.

A pod declares it by the annotation `fleet.gpu/cuda`, such as `12.8`. Programs of a CUDA major run
from one driver branch on:

| CUDA | oldest driver branch |
|---|---|
| 11.x | 450 |
| 12.x | 525 |
| 13.x | 580, an extension of your own |

Within a major, a newer minor than the driver's own runs without its new features, and without
compiling PTX. A pod without the annotation is not judged; one whose image brings CUDA's forward
compatibility package leaves it out.
"""

import re

from policies.language import cel
from policies.language.cel_forms import GPU_PODS, Fault, of_pods
from policies.language.gpu_work import gpu_pods
from policies.language.pods import Pod
from policies.language.pool_table import (
    cel_no_pool_fits,
    cel_text,
    no_pool_fits,
    open_to,
    pod_violations,
    selected,
    with_pools,
)
from policies.language.rule import Manifest, Rule, Settings
from settings.names import PREFIX

_DECLARED = f"{PREFIX}/cuda"
_FORM = "[1-9][0-9]?([.][0-9]{1,2}){0,2}"
_MALFORMED = f"must have a version such as 12.8 in its annotation {_DECLARED}."
_MUST = "must have an image of"
_SAYS = "CUDA {newest_cuda} or older for driver {driver} of pool '{name}'"


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns the pods whose images are of a CUDA that their pool's driver does not run."""
    return pod_violations(manifest, gpu_pods(manifest), lambda pod: _fault(pod, settings))


def _fault(pod: Pod, settings: Settings) -> str | None:
    declared = pod.annotations.get(_DECLARED)
    if declared is None:
        return None
    if not re.fullmatch(_FORM, str(declared)):
        return _MALFORMED
    major = int(str(declared).partition(".")[0])
    known = [pool for pool in open_to(settings, selected(pod)) if "driver" in pool]
    return no_pool_fits(known, lambda pool: major <= pool["newest_cuda"], _SAYS, _MUST)


_VALUE = f"'%s'.format([p.annotations['{_DECLARED}']])"

RULE = Rule(
    id="numa/cuda-version",
    sentence="The CUDA that an image declares must run with the driver of the pool.",
    why=(
        "With an older driver than its CUDA needs a program ends with 'driver version is "
        "insufficient' on the first call, after the machine was rented and the image loaded."
    ),
    source="https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html",
    predicate=violations,
    admission=of_pods(
        with_pools(
            f"{GPU_PODS}.filter(p, p.annotations[?'{_DECLARED}'].hasValue())", "has(e.driver)"
        ),
        [
            Fault(broken=f"!{_VALUE}.matches('^{_FORM}$')", says=cel.literal(_MALFORMED)),
            cel_no_pool_fits(
                f"int({_VALUE}.split('.')[0]) <= e.newest_cuda", cel_text(_SAYS), _MUST
            ),
        ],
    ),
)
