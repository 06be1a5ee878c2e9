"""A field that the program ignores, on a real API server: the image of a BareMetalHost.

`fleet reinstall` takes the image of a host away and gives it another one; the engine then sends
what it knows, which is the first image.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from rehearsal.control_plane import ControlPlane
from rehearsal.providers.kubernetes.readiness import install_crds
from rehearsal.providers.values import Properties
from tests.support.rehearsal.provider_engine import FakeEngine, Made, Refused
from toolchain.build import Tools

HOST = "kubernetes:metal3.io/v1alpha1:BareMetalHost"
PATH = "/apis/metal3.io/v1alpha1/namespaces/default/baremetalhosts/dgx-01"
IMAGE = ("spec.image",)
LEAVES = tuple(f"spec.image.{key}" for key in ("url", "checksum", "checksumType", "format"))


def image(release: str) -> Properties:
    return {
        "url": f"https://images.fleet.example/{release}.img",
        "checksum": "0" * 128,
        "checksumType": "sha512",
        "format": "qcow2",
    }


def host(*, plan: str, image: Properties | None) -> Properties:
    spec: Properties = {"online": True, "bootMACAddress": "94:6d:ae:05:00:01"}
    return {
        "apiVersion": "metal3.io/v1alpha1",
        "kind": "BareMetalHost",
        "metadata": {"name": "dgx-01", "namespace": "default", "labels": {"plan": plan}},
        "spec": spec if image is None else {**spec, "image": image},
    }


@pytest.fixture
def made(kubernetes: FakeEngine, plane: ControlPlane, tools: Tools) -> Iterator[Made]:
    """A host as the program made it with its first image."""
    install_crds(plane.api, tools.crds / "metal3", manager="test")
    found = kubernetes.created(HOST, host(plan="a", image=image("4593.2.4")))
    yield found
    kubernetes.delete(found)


def patch(plane: ControlPlane, image: Properties | None) -> None:
    """What `fleet reinstall` does, under its own field manager."""
    plane.api.request(
        "PATCH",
        PATH,
        {"spec": {"image": image}},
        query={"fieldManager": "fleet"},
        headers={"Content-Type": "application/merge-patch+json"},
    )


def deployed(plane: ControlPlane) -> dict[str, Any]:
    found = plane.api.get(PATH)
    assert found is not None
    return found


def test_an_update_keeps_the_image_of_a_reinstalled_host(
    kubernetes: FakeEngine, made: Made, plane: ControlPlane
) -> None:
    patch(plane, None)
    patch(plane, image("4593.2.5"))
    again = host(plan="b", image=image("4593.2.4"))
    with pytest.raises(Refused, match="conflict"):
        kubernetes.updated(made, again)

    kubernetes.updated(made, again, ignored=IMAGE)

    found = deployed(plane)
    assert found["spec"]["image"] == image("4593.2.5")
    assert found["metadata"]["labels"] == {"plan": "b"}


def test_an_update_keeps_the_first_image_that_nobody_changed(
    kubernetes: FakeEngine, made: Made, plane: ControlPlane
) -> None:
    kubernetes.updated(made, host(plan="b", image=image("4593.2.4")), ignored=IMAGE)
    assert deployed(plane)["spec"]["image"] == image("4593.2.4")


def test_an_image_that_a_refresh_found_absent_stays_absent_only_where_all_of_it_is_ignored(
    kubernetes: FakeEngine, made: Made, plane: ControlPlane
) -> None:
    """For leaves the engine leaves an empty image behind, which the API server refuses."""
    patch(plane, None)
    kubernetes.updated(made, host(plan="b", image=None), ignored=IMAGE)
    assert "image" not in deployed(plane)["spec"]
    with pytest.raises(Refused, match=r"spec\.image\.url: Required value"):
        kubernetes.updated(made, host(plan="c", image={}), ignored=LEAVES)
