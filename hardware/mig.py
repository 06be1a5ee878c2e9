"""The MIG profiles of the catalogue's GPUs, and the check of a MIG layout.

https://github.com/NVIDIA/mig-parted v0.15.0: pkg/mig/builder/builder_test.go and
deployments/systemd/config-default.yaml; which products have MIG, and into how many instances they
can be cut: https://docs.nvidia.com/datacenter/tesla/mig-user-guide/supported-gpus.html
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class MigProfile:
    """The compute and memory slices of an instance, and the most instances of a GPU.

    `at_most` is the driver's own count; memory slices follow from it and from the profile's size.
    """

    compute_slices: int
    memory_slices: int
    at_most: int


def _profile(compute: int, memory: int, at_most: int) -> MigProfile:
    return MigProfile(compute_slices=compute, memory_slices=memory, at_most=at_most)


def _data_centre(*sizes: int) -> Mapping[str, MigProfile]:
    """Seven compute and eight memory slices; `sizes` in GB are those of 1, 2, 4 and 8 slices."""
    one, two, four, eight = sizes
    return {
        f"1g.{one}gb": _profile(1, 1, 7),
        f"1g.{one}gb+me": _profile(1, 1, 1),
        f"1g.{two}gb": _profile(1, 2, 4),
        f"2g.{two}gb": _profile(2, 2, 3),
        f"3g.{four}gb": _profile(3, 4, 2),
        f"4g.{four}gb": _profile(4, 4, 1),
        f"7g.{eight}gb": _profile(7, 8, 1),
    }


_WORKSTATION = {
    "1g.24gb": _profile(1, 1, 4),
    "1g.24gb+me": _profile(1, 1, 1),
    "1g.24gb+gfx": _profile(1, 1, 4),
    "1g.24gb+me.all": _profile(1, 1, 1),
    "1g.24gb-me": _profile(1, 1, 4),
    "2g.48gb": _profile(2, 2, 2),
    "2g.48gb+gfx": _profile(2, 2, 2),
    "2g.48gb+me.all": _profile(2, 2, 1),
    "2g.48gb-me": _profile(2, 2, 2),
    "4g.96gb": _profile(4, 4, 1),
    "4g.96gb+gfx": _profile(4, 4, 1),
}

MIG_PROFILES: Mapping[str, Mapping[str, MigProfile]] = {
    "NVIDIA A100-SXM4-80GB": _data_centre(10, 20, 40, 80),
    "NVIDIA H100 80GB HBM3": _data_centre(10, 20, 40, 80),
    "NVIDIA H200": _data_centre(18, 35, 71, 141),
    "NVIDIA B200": _data_centre(23, 45, 90, 180),
    # needs a driver from 575.51.03 on, which Flatcar has no extension for
    "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition": _WORKSTATION,
}
"""Profiles by the catalogue's model; a model that is missing has no MIG that anybody has read."""


def layout_fault(model: str, layout: Mapping[str, int]) -> str | None:
    """Return why a GPU of the model cannot have these instances by profile; None where it can."""
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
    of_compute, of_memory = _slices(profiles)
    if compute > of_compute or memory > of_memory:
        return (
            f"its instances need {compute} compute and {memory} memory slices, and a GPU has "
            f"{of_compute} and {of_memory}"
        )
    return None


def _slices(profiles: Mapping[str, MigProfile]) -> tuple[int, int]:
    """The compute and memory slices of a GPU: the largest profile takes it whole."""
    return (
        max(profile.compute_slices for profile in profiles.values()),
        max(profile.memory_slices for profile in profiles.values()),
    )
