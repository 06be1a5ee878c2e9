"""What an hour of a pool's GPU costs."""

import pytest

from components.platform.monitoring.cost import PoolGpus, catalogue


def test_a_pool_without_a_price_has_gpus_and_no_cost() -> None:
    recorded = catalogue({"lab": PoolGpus(gpus_per_node=1, usd_per_gpu_hour=None)})
    assert [rule.name for rule in recorded] == ["pool:gpus_per_node:count"]


def test_each_pool_has_its_own_price() -> None:
    recorded = catalogue(
        {
            "dgx": PoolGpus(gpus_per_node=8, usd_per_gpu_hour=2.35),
            "burst": PoolGpus(gpus_per_node=8, usd_per_gpu_hour=4.975),
        }
    )
    prices = {
        rule.labels["pool"]: rule.expression for rule in recorded if rule.name.endswith(":price")
    }
    assert prices == {"dgx": "vector(2.35)", "burst": "vector(4.975)"}


def test_a_pool_without_gpus_is_refused() -> None:
    with pytest.raises(ValueError, match="gpus_per_node is 0; allowed: 1 or more"):
        PoolGpus(gpus_per_node=0, usd_per_gpu_hour=1)


def test_a_negative_price_is_refused() -> None:
    with pytest.raises(ValueError, match=r"usd_per_gpu_hour is -1; allowed: 0 or more\."):
        PoolGpus(gpus_per_node=8, usd_per_gpu_hour=-1)
