"""What no update does to an owned machine, and the sentence that says what to do instead."""

from dataclasses import replace

from settings.owned_machines import ENTER_AGAIN, TWO_UPDATES, Host, OwnedMachines, refused

HOST = Host(
    name="dgx-01",
    pool="dgx",
    bmc_address="redfish://10.0.0.1/a",
    boot_mac_address="94:6d:ae:01:02:0a",
)
OTHER = "94:6d:ae:01:02:0b"


def deployed(*, joined: bool = True, left: bool = False) -> OwnedMachines:
    return OwnedMachines(
        hosts=[HOST],
        joined=frozenset({"dgx-01"} if joined else ()),
        left=frozenset({"dgx-01"} if left else ()),
    )


def told(before: OwnedMachines, *after: Host) -> tuple[str, ...]:
    return tuple(refused(before, after))


def test_a_machine_that_stays_as_it_is_and_a_new_one_are_no_matter() -> None:
    new = Host(name="dgx-02", pool="dgx", bmc_address="ipmi://a", boot_mac_address=OTHER)
    assert told(deployed(), HOST, new) == ()


def test_a_machine_goes_only_when_it_has_left() -> None:
    assert told(deployed()) == (
        f"dgx-01 is a machine whose entry is gone, and it has not left: {TWO_UPDATES}",
    )
    assert told(deployed(left=True)) == ()


def test_a_machine_moves_to_another_pool_only_after_its_host_has_gone() -> None:
    there = replace(HOST, pool="burst")
    (sentence,) = told(deployed(), there)
    assert sentence == (
        "dgx-01 is a machine of the pool dgx, and the stack file has it in burst: two hosts would "
        "drive one BMC, and the end of the old one wipes the machine. It moves in steps: put the "
        "entry back there with `leaving: true`, update, take the entry out, update, and enter the "
        "machine in burst. A pool with a new name needs `was:` with the first one."
    )
    (drained,) = told(deployed(left=True), there)
    assert "in steps: take the entry out, update, and enter the machine in burst." in drained
    assert told(OwnedMachines(hosts=[], joined=frozenset(), left=frozenset()), there) == ()


def test_a_machine_with_a_new_name_waits_until_the_host_of_its_bmc_has_gone() -> None:
    renamed = replace(HOST, name="dgx-09", bmc_address="redfish+https://10.0.0.1:443/a/")
    (sentence,) = told(deployed(left=True), renamed)
    assert sentence.startswith("dgx-09 has the BMC of dgx-01, whose host is there until the end")
    assert "update without dgx-09 first" in sentence


def test_another_bmc_address_is_refused_once_metal3_has_registered_the_host() -> None:
    after = replace(HOST, bmc_address="ipmi://b")
    (sentence,) = told(deployed(), after)
    assert sentence == (
        "dgx-01 has the bmc_address redfish://10.0.0.1/a, and the stack file says ipmi://b, which "
        f"Metal3 refuses: {ENTER_AGAIN}"
    )
    assert told(deployed(joined=False), after) == ()


def test_another_boot_mac_is_refused_at_any_time_and_other_letters_are_the_same_one() -> None:
    (sentence,) = told(deployed(joined=False), replace(HOST, boot_mac_address=OTHER))
    assert f"boot_mac_address {HOST.boot_mac_address}, and the stack file says {OTHER}" in sentence
    upper = replace(HOST, boot_mac_address="94:6D:AE:01:02:0A")
    assert told(deployed(), upper) == ()
