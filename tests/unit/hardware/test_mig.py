"""MIG layouts: what a GPU of the catalogue can be cut into, by counts and by slices."""

import pytest

from hardware.catalogue import load, names
from hardware.mig import MIG_PROFILES, layout_fault

A100, H100, H200 = "NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3", "NVIDIA H200"
B200 = "NVIDIA B200"
RTX = "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"


def test_every_model_with_profiles_is_on_a_machine_of_the_catalogue() -> None:
    models = {gpu.model for name in names() for gpu in load(name).gpus}
    assert set(MIG_PROFILES) == models - {"NVIDIA RTX 4000 SFF Ada Generation"}


# the layouts called all-balanced in mig-parted's deployments/systemd/config-default.yaml
@pytest.mark.parametrize(
    ("model", "layout"),
    [
        (A100, {"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1}),
        (H100, {"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1}),
        (H200, {"1g.18gb": 2, "2g.35gb": 1, "3g.71gb": 1}),
        (B200, {"1g.23gb": 2, "2g.45gb": 1, "3g.90gb": 1}),
        (RTX, {"1g.24gb": 2, "2g.48gb": 1}),
    ],
)
def test_the_balanced_layout_of_each_gpu_can_be_made(model: str, layout: dict[str, int]) -> None:
    assert layout_fault(model, layout) is None
    smallest = next(iter(layout))
    assert layout_fault(model, {**layout, smallest: 3}) is not None, "it takes the GPU whole"


@pytest.mark.parametrize("model", MIG_PROFILES)
def test_the_largest_instance_leaves_nothing(model: str) -> None:
    smallest, *_, largest = sorted(
        MIG_PROFILES[model], key=lambda name: MIG_PROFILES[model][name].memory_slices
    )
    assert layout_fault(model, {largest: 1}) is None
    assert "instances need" in str(layout_fault(model, {largest: 1, smallest: 1}))


@pytest.mark.parametrize("model", MIG_PROFILES)
def test_memory_of_a_profile_follows_from_its_slices(model: str) -> None:
    profiles = MIG_PROFILES[model]
    slices = max(profile.memory_slices for profile in profiles.values())
    (gpu, *_) = [gpu for name in names() for gpu in load(name).gpus if gpu.model == model]
    for name, profile in profiles.items():
        size = int(name.split(".")[1].split("gb")[0])
        assert abs(size - gpu.memory_gib * profile.memory_slices / slices) <= 1, name


@pytest.mark.parametrize(
    ("model", "layout", "says"),
    [
        (A100, {"1g.18gb": 1}, f"{A100} has no profile 1g.18gb; it has 1g.10gb, 1g.10gb+me, "),
        (H200, {"1g.10gb": 1}, f"{H200} has no profile 1g.10gb; it has 1g.18gb, "),
        (B200, {"7g.180gb": 2}, f"{B200} has at most 1 instances of 7g.180gb, not 2"),
        (RTX, {"2g.48gb": 2, "1g.24gb": 1}, "need 5 compute and 5 memory slices, and a GPU has 4"),
        ("NVIDIA T4", {"1g.5gb": 1}, "of NVIDIA T4 no MIG profile is known"),
    ],
)
def test_a_layout_that_cannot_be_made_says_why(
    model: str, layout: dict[str, int], says: str
) -> None:
    assert says in str(layout_fault(model, layout))
