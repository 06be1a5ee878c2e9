"""Which machines `fleet reinstall` measures after it has reinstalled them."""

from dataclasses import replace

import pytest

from fleet.reinstall.target import target_of
from settings import parse
from settings.gpu_sharing import GpuSharing
from tests.support.stack_settings import config


@pytest.mark.parametrize(
    ("sharing", "why"),
    [
        (GpuSharing(), None),
        (GpuSharing(mode="mig", mig_layout={"1g.18gb": 7}), "the pool shares its GPUs (mig)"),
        (GpuSharing(mode="mps", replicas=4), "the pool shares its GPUs (mps)"),
        (None, "dgx-h200 has no GPU"),
    ],
)
def test_only_machines_with_whole_gpus_are_measured(
    sharing: GpuSharing | None, why: str | None
) -> None:
    settings = parse("dev", config())
    pool = replace(settings.pools["dgx"], sharing=sharing)
    assert target_of(replace(settings, pools={"dgx": pool}), "dgx").not_measured == why
