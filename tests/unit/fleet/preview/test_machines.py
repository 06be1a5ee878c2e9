"""What other images and other hardware mean for the machines that run."""

import pytest

from tests.support.preview.changes import summary
from tests.support.preview.engine_events import (
    NODE_CLASS,
    NODE_POOL,
    SERVER,
    component,
    ignition,
    node_pool,
    shown,
    step,
    urn,
)


@pytest.mark.parametrize(
    ("key", "told", "reboot"),
    [
        (
            "amiSelectorTerms",
            "image changed (Karpenter replaces",
            "yes, nodes are replaced after their jobs",
        ),
        ("capacityReservationSelectorTerms", "", "no"),
    ],
)
def test_another_image_of_rented_machines_replaces_them(key: str, told: str, reboot: str) -> None:
    inputs = shown("burst", "p5e.48xlarge", ignition("p5e.48xlarge"), "training")
    parent = urn("gpu:pools:AwsGpuPool", "burst")
    old, new = ({"spec": {key: [{"name": name}]}} for name in ("a", "b"))
    limits = step("update", NODE_POOL, "b", old=node_pool("spot", 8), new=node_pool("spot", 16))
    limits["resourcePreEvent"]["metadata"]["new"]["parent"] = parent
    found = summary(
        component("same", "burst", "AwsGpuPool", old=inputs, new=inputs),
        step("update", NODE_CLASS, "burst-class", old=old, new=new, parent=parent),
        limits,
    )
    assert found.sizes["burst"].reboot == reboot
    assert ("changed" in found.pools["burst"][0]) is bool(told)
    assert found.pools["burst"][0].startswith(told)


@pytest.mark.parametrize(
    ("kind", "parts", "reboot"),
    [
        ("AwsGpuPool", "", "yes, nodes are replaced"),
        ("HetznerPool", "update", "yes, to take it over"),
        ("HetznerPool", "create", "no"),
    ],
)
def test_other_hardware_does_not_come_without_a_reboot(kind: str, parts: str, reboot: str) -> None:
    old, new = (shown("cpu", name, ignition("ccx33")) for name in ("ccx33", "ccx63"))
    made = (
        [step(parts, SERVER, "cpu-1", old={}, new={}, parent=urn(f"gpu:pools:{kind}", "cpu"))]
        if parts
        else []
    )
    found = summary(component("update", "cpu", kind, old=old, new=new), *made)
    assert found.sizes["cpu"].reboot == reboot


def test_values_of_a_node_pool_are_told_as_they_are_and_many_are_counted() -> None:
    inputs = shown("burst", "p5e.48xlarge", ignition("p5e.48xlarge"), "training")
    old, new = node_pool("spot", 8), node_pool("spot", 8)
    old["spec"] |= {"a": 1, "b": True, "c": "x", "d": 1, "e": 1, "f": 1}
    new["spec"] |= {"a": 0, "b": False, "d": 2, "e": 2, "f": 2}
    parent = urn("gpu:pools:AwsGpuPool", "burst")
    found = summary(
        component("same", "burst", "AwsGpuPool", old=inputs, new=inputs),
        step("update", NODE_POOL, "burst-spot", old=old, new=new, parent=parent),
    )
    told = ("a 1 → 0", "b true → false", "c x → unset", "d 1 → 2")
    assert found.pools["burst"] == (*told, "2 more settings of its NodePools")
