"""NVIDIA's tables of GPUs, drivers and CUDA: which code runs where.

- Compute capability of a GPU: <https://developer.nvidia.com/cuda-gpus>.
- SASS of X.y runs on GPUs of X.z with z from y on, and PTX of X.y on all from X.y on:
  <https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/compute-capabilities.html>.
  With the suffix `a` either runs on that very capability alone, with `f` on those of its family:
  <https://developer.nvidia.com/blog/nvidia-blackwell-and-nvidia-cuda-12-9-introduce-family-specific-architecture-features>.
- The oldest driver branch of each CUDA major:
  <https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html>.
"""

from collections.abc import Iterator, Mapping

Capability = tuple[int, int]

CAPABILITIES: Mapping[str, Capability] = {
    "NVIDIA A100-SXM4-80GB": (8, 0),
    "NVIDIA RTX 4000 SFF Ada Generation": (8, 9),
    "NVIDIA H100 80GB HBM3": (9, 0),
    "NVIDIA H200": (9, 0),
    "NVIDIA B200": (10, 0),
    "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition": (12, 0),
}
"""Compute capabilities by the model of the catalogue."""
_OF_SERVERS: tuple[Capability, ...] = (
    *((5, 0), (5, 2), (6, 0), (6, 1), (7, 0), (7, 5), (8, 0), (8, 6), (8, 9)),
    *((9, 0), (10, 0), (10, 3), (12, 0), (12, 1)),
)
"""The capabilities of servers and workstations; code for Jetson runs on no other GPU."""
_OF_ITS_OWN, _OF_FAMILY = (9, 0), (10, 0)
"""The first capabilities with the suffixes `a` and `f`."""
_DRIVER_OF_CUDA = {11: 450, 12: 525, 13: 580}


def architectures(model: str) -> tuple[str, ...]:
    """The architectures, in nvcc's words (`sm_90`, `compute_80`), of which code runs on a GPU.

    None for a model that is not in the table.
    """
    capability = CAPABILITIES.get(model)
    return () if capability is None else tuple(_running_on(capability))


def _running_on(capability: Capability) -> Iterator[str]:
    major, minor = capability
    for found in _OF_SERVERS:
        number = f"{found[0]}{found[1]}"
        same = found[0] == major and found[1] <= minor
        if same:
            yield f"sm_{number}"
        if found <= capability:
            yield f"compute_{number}"
        if found == capability and found >= _OF_ITS_OWN:
            yield from (f"sm_{number}a", f"compute_{number}a")
        if same and found >= _OF_FAMILY:
            yield from (f"sm_{number}f", f"compute_{number}f")


def newest_cuda(branch: int) -> int:
    """The newest CUDA major whose programs run with a driver branch; 0 where none does."""
    return max((major for major, first in _DRIVER_OF_CUDA.items() if branch >= first), default=0)
