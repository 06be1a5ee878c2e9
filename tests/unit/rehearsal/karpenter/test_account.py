"""What the twin's EC2 can give: the catalogue's machines, in the zones that the settings name."""

from dataclasses import replace
from pathlib import Path

import pytest

from hardware.catalogue import load as machine
from rehearsal.karpenter import account
from settings import AwsPoolSettings, Settings, load, stack_file
from tests.conftest import ROOT


@pytest.fixture
def dev() -> Settings:
    return load(stack_file(ROOT, "dev"))


def test_every_rented_type_of_the_catalogue_is_offered_at_its_price(dev: Settings) -> None:
    found = account.of(dev)
    assert found

    offered = found.type("p5en.48xlarge")
    assert offered
    catalogued = machine("p5en.48xlarge")
    assert offered.vcpus == catalogued.cpu_count
    assert offered.memory_mib == catalogued.memory_gib * 1024
    assert offered.gpus == 8
    assert offered.efa == 16
    assert offered.usd_per_hour["spot"] == catalogued.price.spot_per_hour
    assert offered.usd_per_hour["on-demand"] == catalogued.price.on_demand_per_hour
    assert found.type("dgx-h200") is None, "nobody rents an owned machine"


def test_each_zone_has_a_subnet_within_the_site(dev: Settings) -> None:
    found = account.of(dev)
    assert found

    assert [zone.name for zone in found.zones] == ["us-east-1a", "us-east-1b", "us-east-1c"]
    assert [zone.id for zone in found.zones] == ["use1-az1", "use1-az2", "use1-az3"]
    assert len({zone.subnet for zone in found.zones}) == 3
    assert all(zone.cidr.startswith("10.11.") for zone in found.zones)


def test_a_zone_that_only_a_pool_names_is_there(dev: Settings) -> None:
    pool = dev.pools["burst"]
    assert isinstance(pool.declared, AwsPoolSettings)
    moved = replace(pool, declared=replace(pool.declared, zone="us-east-1f"))
    settings = replace(dev, pools={**dev.pools, "burst": moved})

    found = account.of(settings)

    assert found
    assert "us-east-1f" in {zone.name for zone in found.zones}
    assert found.reservations[0].zone == "us-east-1f"


def test_reserved_capacity_is_what_the_stack_file_counts_on(dev: Settings) -> None:
    found = account.of(dev)
    assert found

    (reserved,) = found.reservations
    assert reserved.machines == 1, "dev reserves 8 GPUs"
    assert reserved.tags == {"fleet.gpu/pool": "burst"}
    assert reserved.until is None


def test_a_fleet_that_rents_nothing_has_no_account(dev: Settings, tmp_path: Path) -> None:
    owned = {name: pool for name, pool in dev.pools.items() if not pool.rented}

    assert not account.write(tmp_path, replace(dev, pools=owned))
    assert account.read(tmp_path) is None


def test_what_was_written_is_what_is_read(dev: Settings, tmp_path: Path) -> None:
    assert account.write(tmp_path, dev)
    assert account.read(tmp_path) == account.of(dev)


def test_what_nobody_is_known_to_sell_is_told(dev: Settings) -> None:
    """The catalogue has no price of a p5e but that of a capacity block; a p5en is sold as spot."""
    (told,) = account.assumed_offers(dev)
    assert told.startswith("AWS sells p5e.48xlarge as spot capacity to the pool burst")

    pool = replace(dev.pools["burst"], hardware=machine("p5en.48xlarge"))
    assert not [*account.assumed_offers(replace(dev, pools={"burst": pool}))]
