"""What no update does to an owned machine, and the sentence that says what to do instead."""

from settings.owned_machines import ENTER_AGAIN, TWO_UPDATES, Host, OwnedMachines, refused

HOST = Host(bmc_address="redfish://10.0.0.1/a", boot_mac_address="94:6d:ae:01:02:0a")
OTHER = "94:6d:ae:01:02:0b"


def deployed(*, joined: bool = True, left: bool = False) -> OwnedMachines:
    return OwnedMachines(
        hosts={"dgx-01": HOST},
        joined=frozenset({"dgx-01"} if joined else ()),
        left=frozenset({"dgx-01"} if left else ()),
    )


def test_a_machine_that_stays_as_it_is_and_a_new_one_are_no_matter() -> None:
    after = {"dgx-01": HOST, "dgx-02": Host(bmc_address="ipmi://a", boot_mac_address=OTHER)}
    assert tuple(refused(deployed(), after)) == ()


def test_a_machine_goes_only_when_it_has_left() -> None:
    (sentence,) = refused(deployed(), {})
    assert sentence == (
        f"dgx-01 is a machine whose entry is gone, and it has not left: {TWO_UPDATES}"
    )
    assert tuple(refused(deployed(left=True), {})) == ()


def test_another_bmc_address_is_refused_once_metal3_has_registered_the_host() -> None:
    after = {"dgx-01": Host(bmc_address="ipmi://b", boot_mac_address=HOST.boot_mac_address)}
    (sentence,) = refused(deployed(), after)
    assert sentence == (
        "dgx-01 has the bmc_address redfish://10.0.0.1/a, and the stack file says ipmi://b, which "
        f"Metal3 refuses: {ENTER_AGAIN}"
    )
    assert tuple(refused(deployed(joined=False), after)) == ()


def test_another_boot_mac_is_refused_at_any_time_and_other_letters_are_the_same_one() -> None:
    (sentence,) = refused(
        deployed(joined=False),
        {"dgx-01": Host(bmc_address=HOST.bmc_address, boot_mac_address=OTHER)},
    )
    assert f"boot_mac_address {HOST.boot_mac_address}, and the stack file says {OTHER}" in sentence
    upper = Host(bmc_address=HOST.bmc_address, boot_mac_address="94:6D:AE:01:02:0A")
    assert tuple(refused(deployed(), {"dgx-01": upper})) == ()
