"""Two spellings of one BMC are told from two BMCs."""

import pytest

from settings.bmc import same_bmc
from settings.problems import seen

ADDRESS = "redfish-virtualmedia+https://10.10.250.11/redfish/v1/Systems/1"


@pytest.mark.parametrize(
    "other",
    [
        f"{ADDRESS}/",
        "redfish+https://10.10.250.11/redfish/v1/Systems/1",
        "redfish://10.10.250.11/redfish/v1/Systems/1",
        "redfish://10.10.250.11:443/redfish/v1/systems/1",
    ],
)
def test_spellings_of_one_bmc_are_equal(other: str) -> None:
    assert same_bmc(other) == same_bmc(ADDRESS)


@pytest.mark.parametrize(
    "other",
    [
        "redfish+https://10.10.250.12/redfish/v1/Systems/1",
        "redfish+https://10.10.250.11/redfish/v1/Systems/2",
        "redfish+https://10.10.250.11:8443/redfish/v1/Systems/1",
        "redfish+http://10.10.250.11/redfish/v1/Systems/1",
    ],
)
def test_other_hosts_ports_and_systems_are_other_bmcs(other: str) -> None:
    assert same_bmc(other) != same_bmc(ADDRESS)


def test_a_bmc_by_ipmi_has_its_own_port() -> None:
    assert same_bmc("ipmi://BMC-1.fleet.example") == same_bmc("ipmi://bmc-1.fleet.example:623/")


def test_the_user_in_an_address_that_is_refused_is_not_shown() -> None:
    address = ADDRESS.replace("//", "//root:calvin@")
    assert seen(address) == f'"{ADDRESS.replace("//", "//…@")}"'
