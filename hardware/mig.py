"""How a GPU of the catalogue can be cut into MIG instances."""

from collections.abc import Mapping
from dataclasses import dataclass

COMPUTE_SLICES = 7
MEMORY_SLICES = 8


@dataclass(frozen=True, kw_only=True)
class MigProfile:
    """What an instance takes of the seven compute and eight memory slices, and how many there are.

    `at_most` is the driver's own count; memory slices follow from it and from the profile's size.
    """

    compute_slices: int
    memory_slices: int
    at_most: int


def _profile(compute: int, memory: int, at_most: int) -> MigProfile:
    return MigProfile(compute_slices=compute, memory_slices=memory, at_most=at_most)


MIG_PROFILES: Mapping[str, Mapping[str, MigProfile]] = {
    # https://github.com/NVIDIA/mig-parted v0.15.0: pkg/mig/builder/builder_test.go and
    # deployments/container/config-default.yaml
    "NVIDIA H200": {
        "1g.18gb": _profile(1, 1, 7),
        "1g.18gb+me": _profile(1, 1, 1),
        "1g.35gb": _profile(1, 2, 4),
        "2g.35gb": _profile(2, 2, 3),
        "3g.71gb": _profile(3, 4, 2),
        "4g.71gb": _profile(4, 4, 1),
        "7g.141gb": _profile(7, 8, 1),
    },
}
"""Profiles by the catalogue's model; a model that is missing has no MIG that anybody has read."""


def layout_fault(model: str, layout: Mapping[str, int]) -> str | None:
    """Why a GPU of the model cannot be cut into these instances by profile; None where it can."""
    profiles = MIG_PROFILES.get(model)
    if profiles is None:
        return f"of {model} no MIG profile is known"
    for name, count in layout.items():
        if name not in profiles:
            return f"{model} has no profile {name}; it has {', '.join(profiles)}"
        if count > profiles[name].at_most:
            return f"{model} has at most {profiles[name].at_most} instances of {name}, not {count}"
    compute = sum(profiles[name].compute_slices * count for name, count in layout.items())
    memory = sum(profiles[name].memory_slices * count for name, count in layout.items())
    if compute > COMPUTE_SLICES or memory > MEMORY_SLICES:
        return (
            f"its instances need {compute} compute and {memory} memory slices, and a GPU has "
            f"{COMPUTE_SLICES} and {MEMORY_SLICES}"
        )
    return None
