"""Ids: the names that pools, teams and sites were born with, under new names."""

from typing import Any

import pytest

from settings import BareMetalPoolSettings, OnPremSite, SettingsError, parse
from tests.support.stack_settings import config, with_tunnel


def refused(configuration: dict[str, object]) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as caught:
        parse("dev", configuration)
    return caught.value.mistakes


def renamed(section: str, old: str, new: str, was: str | None = None) -> dict[str, Any]:
    """The valid configuration with one entry under a new name that keeps its id."""
    found = dict[str, Any](config())
    entries = found[section]
    entries[new] = {**entries.pop(old), "was": was or old}
    for pool in found["pools"].values():
        if section == "sites" and pool["site"] == old:
            pool["site"] = new
    return found


def test_settings_have_pools_by_their_ids_with_the_names_of_the_file_beside_them() -> None:
    settings = parse("dev", renamed("pools", "dgx", "h200"))
    pool = settings.pools["dgx"]
    assert (pool.name, pool.title, pool.labels["fleet.gpu/pool"]) == ("dgx", "h200", "dgx")
    assert "h200" not in settings.pools


def test_the_site_of_a_pool_is_an_id() -> None:
    settings = parse("dev", renamed("sites", "fra", "frankfurt"))
    assert settings.pools["dgx"].site == "fra"
    assert settings.pools["dgx"].labels["fleet.gpu/site"] == "fra"
    assert settings.renamed_sites == {"fra": "frankfurt"}


def test_the_sites_of_lakefs_and_of_a_gateway_are_ids() -> None:
    found = renamed("sites", "us-east-1", "virginia")
    found["lakefs"]["site"] = "virginia"
    lakefs = parse("dev", found).lakefs
    assert lakefs is not None
    assert lakefs.site == "us-east-1"
    behind = dict[str, Any](with_tunnel({"site": "helsinki", "hardware": "ccx33"}))
    behind["sites"]["helsinki"] = {**behind["sites"].pop("hel1"), "was": "hel1"}
    behind["pools"]["cpu"]["site"] = "helsinki"
    site = parse("dev", behind).sites["fra"]
    assert isinstance(site, OnPremSite)
    assert site.tunnel is not None
    assert site.tunnel.gateway is not None
    assert site.tunnel.gateway.site == "hel1"


def test_a_queue_names_its_pool_by_the_name_in_the_file_and_gets_the_id() -> None:
    found = renamed("pools", "dgx", "h200")
    queues = found["teams"]["research"]["queues"]
    queues["research"] = {"weight": 1, "gpus": 16, "pool": "h200"}
    assert parse("dev", found).teams["research"].queues["research"].pool == "dgx"
    queues["research"]["pool"] = "dgx"
    (mistake,) = refused(found)
    assert mistake.startswith(
        'gpu-fleet:teams.research.queues.research.pool is "dgx", which is not in gpu-fleet:pools; '
        "allowed: a pool with GPUs (burst, h200), or no `pool`"
    )


def test_a_team_keeps_its_id() -> None:
    settings = parse("dev", renamed("teams", "research", "science"))
    assert set(settings.teams) == {"research"}


def test_mistakes_have_the_name_in_the_file() -> None:
    found = renamed("pools", "dgx", "h200")
    found["pools"]["h200"]["tuning"] = {"housekeeping_cores_per_numa_node": 400}
    assert all(each.startswith("gpu-fleet:pools.h200.") for each in refused(found))


def test_a_machine_may_not_have_the_name_of_a_server_of_a_renamed_pool() -> None:
    """Its servers are named by the id."""
    found = renamed("pools", "cpu", "services")
    found["pools"]["dgx"]["machines"][0]["name"] = "fleet-dev-cpu-1"
    (mistake,) = refused(found)
    assert mistake.endswith("allowed: a name that no server of gpu-fleet:pools.services has.")


def test_a_first_name_that_another_pool_has_is_refused() -> None:
    found = renamed("pools", "dgx", "h200", was="cpu")
    (mistake,) = refused(found)
    assert mistake.startswith('gpu-fleet:pools.h200.was is "cpu"; allowed: a name that ')
    assert mistake.endswith(" gpu-fleet:pools.cpu does not have.")


def test_two_pools_with_one_first_name_are_refused() -> None:
    found = renamed("pools", "dgx", "h200", was="first")
    found["pools"]["cpu"]["was"] = "first"
    (mistake,) = refused(found)
    assert mistake == (
        'gpu-fleet:pools.h200.was is "first"; allowed: a name that gpu-fleet:pools.cpu.was does '
        "not have."
    )


def test_two_pools_cannot_swap_their_names() -> None:
    found = dict[str, Any](config())
    found["pools"]["dgx"]["was"] = "cpu"
    found["pools"]["cpu"]["was"] = "dgx"
    assert len(refused(found)) == 2


def test_a_first_name_has_the_form_of_a_name() -> None:
    (mistake,) = refused(renamed("pools", "dgx", "h200", was="DGX"))
    assert mistake == (
        'gpu-fleet:pools.h200.was is "DGX"; allowed: 1 to 24 lower-case letters, digits and '
        "hyphens, a letter first."
    )


def test_a_chain_of_renames_keeps_the_first_name() -> None:
    (pool,) = (
        pool
        for pool in parse("dev", renamed("pools", "dgx", "hopper")).pools.values()
        if isinstance(pool.declared, BareMetalPoolSettings)
    )
    assert (pool.name, pool.title) == ("dgx", "hopper")
