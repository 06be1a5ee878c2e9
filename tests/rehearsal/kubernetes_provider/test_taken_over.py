"""A field that another program has written, on a real API server: the limit of a NodePool."""

from collections.abc import Iterator
from typing import Any

import pytest

from kube.client import FIELD_MANAGER
from kube.node_pools import GPUS, TAKEN_OVER
from rehearsal.control_plane import ControlPlane
from rehearsal.providers.kubernetes.readiness import install_crds
from rehearsal.providers.values import Properties
from tests.support.rehearsal.provider_engine import FakeEngine, Made, Refused
from toolchain.build import Tools

POOL = "kubernetes:karpenter.sh/v1:NodePool"
PATH = "/apis/karpenter.sh/v1/nodepools/burst"


def pool(gpus: str) -> Properties:
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "burst"},
        "spec": {
            "limits": {GPUS: gpus},
            "template": {
                "spec": {
                    "nodeClassRef": {
                        "group": "karpenter.k8s.aws",
                        "kind": "EC2NodeClass",
                        "name": "burst",
                    },
                    "requirements": [
                        {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}
                    ],
                }
            },
        },
    }


@pytest.fixture
def made(kubernetes: FakeEngine, plane: ControlPlane, tools: Tools) -> Iterator[Made]:
    install_crds(plane.api, tools.crds / "karpenter", manager="test")
    found = kubernetes.created(POOL, pool("16"))
    yield found
    kubernetes.delete(found)


def stopped(plane: ControlPlane, manager: str) -> None:
    """What the end of a pool begins with, under a field manager."""
    plane.api.request(
        "PATCH",
        PATH,
        {"spec": {"limits": {GPUS: "0"}}},
        query={"fieldManager": manager},
        headers={"Content-Type": "application/merge-patch+json"},
    )


def applied(plane: ControlPlane, manager: str) -> None:
    """The same by `kubectl apply --server-side --force-conflicts`, under a field manager."""
    plane.api.apply(PATH, pool("0"), manager=manager, force=True)


def limit(plane: ControlPlane) -> Any:
    found = plane.api.get(PATH)
    assert found is not None
    return found["spec"]["limits"][GPUS]


def test_a_pool_whose_end_was_called_off_gets_its_limit_back(
    kubernetes: FakeEngine, made: Made, plane: ControlPlane
) -> None:
    stopped(plane, TAKEN_OVER)
    kubernetes.updated(made, pool("24"))
    assert limit(plane) == "24"


def test_the_limit_of_any_other_manager_would_be_a_conflict(
    kubernetes: FakeEngine, made: Made, plane: ControlPlane
) -> None:
    stopped(plane, FIELD_MANAGER)
    with pytest.raises(Refused, match="conflict"):
        kubernetes.updated(made, pool("24"))
    assert limit(plane) == "0"


def test_what_kubectl_has_applied_is_taken_over_without_a_word(
    kubernetes: FakeEngine, made: Made, plane: ControlPlane
) -> None:
    """So is what managers have applied whose names begin like its own."""
    kubernetes.updated(made, pool("20"))
    applied(plane, "kubectl-of-ada")
    kubernetes.updated(made, pool("24"))
    assert limit(plane) == "24"

    applied(plane, "argocd")
    with pytest.raises(Refused, match="conflict"):
        kubernetes.updated(made, pool("28"))


def test_an_object_that_says_no_owner_of_its_fields_is_overwritten(
    kubernetes: FakeEngine, made: Made, plane: ControlPlane
) -> None:
    stopped(plane, FIELD_MANAGER)
    headers = {"Content-Type": "application/merge-patch+json"}
    plane.api.request("PATCH", PATH, {"metadata": {"managedFields": [{}]}}, headers=headers)
    kubernetes.updated(made, pool("24"))
    assert limit(plane) == "24"
