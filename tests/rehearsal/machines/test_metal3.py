"""The stand-in of Metal3's controller keeps the states that its source states."""

import pytest

from rehearsal.api import ApiServerError
from rehearsal.metal3 import DETACHED, FINALIZER, SECRET_FINALIZER, Metal3
from tests.support.rehearsal.hall import HALL, NAMESPACE, NEW, SECRETS, Hall, bmc


def steps_of(hall: Hall, name: str, rounds: int = 12) -> list[str]:
    """Return the states that a host goes through, each once in a row."""
    metal3, seen = Metal3(api=hall.api), [hall.states().get(name)]
    for _ in range(rounds):
        metal3.step()
        if hall.states().get(name) != seen[-1]:
            seen.append(hall.states().get(name))
    return [str(state) for state in seen]


def test_a_new_host_is_registered_inspected_prepared_and_installed(hall: Hall) -> None:
    hall.add("dgx-01")

    assert steps_of(hall, "dgx-01") == [
        "None",
        "registering",
        "inspecting",
        "preparing",
        "available",
        "provisioning",
        "provisioned",
    ]
    status = hall.host("dgx-01")["status"]
    assert status["poweredOn"] is True
    assert status["provisioning"]["image"] == hall.host("dgx-01")["spec"]["image"]
    assert hall.host("dgx-01")["metadata"]["finalizers"] == [FINALIZER]


def test_another_image_wipes_all_machines_at_once(hall: Hall) -> None:
    """What a new release of Flatcar did when an update wrote it into every host."""
    names = ["dgx-01", "dgx-02", "dgx-03"]
    hall.add(*names)
    metal3 = Metal3(api=hall.api)
    metal3.settle()
    for name in names:
        hall.set_image(name, NEW)

    changes = metal3.step()

    assert set(changes.stopped) == {(NAMESPACE, name) for name in names}
    assert set(hall.states().values()) == {"deprovisioning"}


def test_an_image_that_goes_makes_the_host_available_and_one_that_comes_installs(
    hall: Hall,
) -> None:
    hall.add("dgx-01")
    metal3 = Metal3(api=hall.api)
    metal3.settle()
    hall.set_image("dgx-01", None)
    assert steps_of(hall, "dgx-01") == [
        "provisioned",
        "deprovisioning",
        "available",
        "preparing",
        "available",
    ]

    hall.set_image("dgx-01", NEW)

    assert steps_of(hall, "dgx-01") == ["available", "provisioning", "provisioned"]
    assert hall.host("dgx-01")["status"]["provisioning"]["image"]["url"] == NEW


def test_without_hints_no_machine_that_boots_from_nvme_is_ever_installed(hall: Hall) -> None:
    hall.add("dgx-01", rootDeviceHints=None)

    changes = Metal3(api=hall.api).settle()

    status = hall.host("dgx-01")["status"]
    assert changes.installed == ()
    assert status["errorType"] == "provisioning error"
    assert status["errorCount"] >= 1
    assert "No suitable device was found" in status["errorMessage"]
    assert "/dev/sda" in status["errorMessage"]


@pytest.mark.parametrize(
    ("hints", "installed"),
    [
        ({"serialNumber": "EXAMPLE-1"}, True),
        ({"minSizeGigabytes": 900}, True),
        ({"minSizeGigabytes": 90_000}, False),
        ({"rotational": True}, False),
        ({"deviceName": "/dev/sda"}, False),
    ],
)
def test_every_hint_must_fit_a_drive_of_the_catalogue(
    hall: Hall, hints: dict[str, object], installed: bool
) -> None:
    hall.add("dgx-01", rootDeviceHints=hints)
    assert bool(Metal3(api=hall.api).settle().installed) is installed


def test_a_host_that_is_to_be_off_is_not_installed_before_it_is_on(hall: Hall) -> None:
    hall.add("dgx-01", online=False)
    metal3 = Metal3(api=hall.api)
    assert metal3.settle().installed == ()
    assert hall.states() == {"dgx-01": "available"}

    hall.patch(f"{HALL}/dgx-01", {"spec": {"online": True}})
    assert metal3.settle().installed == ((NAMESPACE, "dgx-01"),)

    hall.patch(f"{HALL}/dgx-01", {"spec": {"online": False}})
    assert metal3.settle().stopped == ((NAMESPACE, "dgx-01"),)
    assert hall.states() == {"dgx-01": "provisioned"}


def test_a_deleted_host_is_wiped_and_off_before_it_is_gone(hall: Hall) -> None:
    hall.add("dgx-01")
    Metal3(api=hall.api).settle()
    hall.delete(f"{HALL}/dgx-01")

    assert steps_of(hall, "dgx-01") == [
        "provisioned",
        "deprovisioning",
        "powering off before delete",
        "deleting",
        "None",
    ]


def test_a_detached_host_goes_untouched_and_an_attached_one_is_managed_again(hall: Hall) -> None:
    hall.add("dgx-01", "dgx-02")
    metal3 = Metal3(api=hall.api)
    metal3.settle()
    for name in ("dgx-01", "dgx-02"):
        hall.patch(f"{HALL}/{name}", {"metadata": {"annotations": {DETACHED: "leaving"}}})
    metal3.settle()
    assert hall.host("dgx-01")["status"]["operationalStatus"] == "detached"
    hall.delete(f"{HALL}/dgx-01")
    hall.patch(f"{HALL}/dgx-02", {"metadata": {"annotations": {DETACHED: None}}})

    assert metal3.settle().stopped == ()

    assert hall.states() == {"dgx-02": "provisioned"}
    assert hall.host("dgx-02")["status"]["operationalStatus"] == "OK"


def test_the_annotation_alone_keeps_no_host_from_being_wiped(hall: Hall) -> None:
    """Why the update that detaches waits for the status, and the next one may delete."""
    hall.add("dgx-01")
    metal3 = Metal3(api=hall.api)
    metal3.settle()
    hall.patch(f"{HALL}/dgx-01", {"metadata": {"annotations": {DETACHED: "leaving"}}})
    hall.delete(f"{HALL}/dgx-01")

    assert metal3.settle().stopped == ((NAMESPACE, "dgx-01"),)


def test_how_metal3_reaches_a_machine_is_not_changed_while_it_manages_it(hall: Hall) -> None:
    mac = "94:6d:ae:01:02:0a"
    hall.add("dgx-01", bootMACAddress=mac)
    metal3 = Metal3(api=hall.api)

    def change(**spec: object) -> str:
        try:
            hall.patch(f"{HALL}/dgx-01", {"spec": spec})
        except ApiServerError as error:
            return str(error)
        return ""

    while hall.states()["dgx-01"] != "registering":
        metal3.step()
    assert change(bmc={"address": bmc(7)}) == "", "a wrong address is corrected"
    refused = "bootMACAddress can not be changed once it is set"
    assert refused in change(bootMACAddress="94:6d:ae:01:02:0b")
    assert change(bootMACAddress=mac.upper()) == ""
    metal3.settle()
    refused = "BMC address can not be changed if the BMH is not in the Registering state"
    assert refused in change(bmc={"address": bmc(8)})
    hall.patch(f"{HALL}/dgx-01", {"metadata": {"annotations": {DETACHED: "leaving"}}})
    metal3.settle()
    assert change(bmc={"address": bmc(8)}) == ""


def test_a_bmc_secret_cannot_go_before_its_hosts(hall: Hall) -> None:
    hall.add("dgx-01")
    metal3 = Metal3(api=hall.api)
    metal3.settle()

    hall.delete(f"{SECRETS}/bmc")
    metal3.settle()

    held = hall.api.get(f"{SECRETS}/bmc")
    assert held
    assert held["metadata"]["finalizers"] == [SECRET_FINALIZER]
    hall.delete(f"{HALL}/dgx-01")
    metal3.settle()
    assert hall.api.get(f"{SECRETS}/bmc") is None


def test_a_host_without_its_secret_says_so_and_goes_on_when_it_is_there(hall: Hall) -> None:
    hall.add("dgx-01")
    hall.delete(f"{SECRETS}/bmc")
    metal3 = Metal3(api=hall.api)
    for _ in range(5):
        metal3.step()
    status = hall.host("dgx-01")["status"]
    assert status["errorMessage"] == f"The BMC secret {NAMESPACE}/bmc does not exist"
    assert hall.states() == {"dgx-01": "registering"}

    hall.add()
    assert metal3.settle().installed == ((NAMESPACE, "dgx-01"),)
