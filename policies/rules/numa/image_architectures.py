"""An image that declares its architectures must have code for the pool's GPU.

A pod declares what its image was built for by the annotation `fleet.gpu/cuda-architectures`, in
nvcc's words and with commas: `sm_80,sm_90a,compute_90`. `sm_` is machine code (SASS) and runs on
GPUs of that major alone; `compute_` is PTX, which the driver compiles when the program starts, for
any GPU from that one on. One that fits is enough. `cuobjdump --list-elf --list-ptx` shows what an
image has. A pod without the annotation is not judged.
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

_DECLARED = f"{PREFIX}/cuda-architectures"
_FORM = "(sm|compute)_[0-9]{2,3}[af]?(,(sm|compute)_[0-9]{2,3}[af]?)*"
_MALFORMED = f"must have architectures such as sm_90,compute_90 in its annotation {_DECLARED}."
_MUST = "must have an image with code for"
_SAYS = "{architecture} of pool '{name}'"


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns the pods whose images have no code for the GPUs that they may run on."""
    return pod_violations(manifest, gpu_pods(manifest), lambda pod: _fault(pod, settings))


def _fault(pod: Pod, settings: Settings) -> str | None:
    declared = pod.annotations.get(_DECLARED)
    if declared is None:
        return None
    if not re.fullmatch(_FORM, str(declared)):
        return _MALFORMED
    built_for = str(declared).split(",")
    known = [pool for pool in open_to(settings, selected(pod)) if "architecture" in pool]
    return no_pool_fits(
        known, lambda pool: any(each in pool["runs"] for each in built_for), _SAYS, _MUST
    )


_VALUE = f"'%s'.format([p.annotations['{_DECLARED}']])"

RULE = Rule(
    id="numa/image-architectures",
    sentence="An image that declares its architectures must have code for the pool's GPU.",
    why=(
        "A program without code for its GPU ends with 'no kernel image is available' after the "
        "machine was rented and the image loaded."
    ),
    source=(
        "https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/"
        "compute-capabilities.html"
    ),
    predicate=violations,
    admission=of_pods(
        with_pools(
            f"{GPU_PODS}.filter(p, p.annotations[?'{_DECLARED}'].hasValue())",
            "has(e.architecture)",
        ),
        [
            Fault(broken=f"!{_VALUE}.matches('^{_FORM}$')", says=cel.literal(_MALFORMED)),
            cel_no_pool_fits(f"{_VALUE}.split(',').exists(a, a in e.runs)", cel_text(_SAYS), _MUST),
        ],
    ),
)
