"""A driver extension of one's own, from the stack file to a pool's machines."""

from datetime import date

from ignition.write.render import tuning_ignition
from settings import parse
from settings.node_boot import node_boot, node_versions
from settings.support import ends
from settings.types import Settings
from tests.support.ignition.nodes import OWN_DRIVER, OWN_FABRIC_MANAGER
from tests.support.stack_settings import CHECKSUM, with_value


def own() -> Settings:
    return parse(
        "dev",
        with_value(
            "versions",
            {
                "nvidia_driver_extension": OWN_DRIVER + CHECKSUM,
                "fabric_manager": OWN_FABRIC_MANAGER + CHECKSUM,
            },
        ),
    )


def test_pools_with_gpus_get_it_and_no_others() -> None:
    settings = own()
    versions = node_versions(settings.versions)
    assert versions.nvidia_driver == "580-open"
    for name, pool in settings.pools.items():
        written = tuning_ignition(node_boot(pool, versions))
        assert (OWN_DRIVER in written) is (name != "cpu"), name
        assert "enabled-sysext.conf" not in written


def test_the_alert_on_versions_that_end_goes_by_its_branch() -> None:
    versions = node_versions(own().versions)
    found = ends(versions.kubernetes, versions.nvidia_driver)
    assert found["NVIDIA's driver 580"] == date(2028, 6, 30)
