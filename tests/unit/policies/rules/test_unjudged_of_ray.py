"""What KubeRay makes of a cluster beside its pods is named, as no rule sees it."""

from typing import Any

import pytest

from policies.language.facts import NONE
from policies.language.unjudged import unjudged

PLACES = {
    "RayCluster": "spec",
    "RayJob": "spec.rayClusterSpec",
    "RayService": "spec.rayClusterConfig",
    "RayCronJob": "spec.jobTemplate.rayClusterSpec",
}


def made(kind: str, cluster: dict[str, Any], **more: object) -> dict[str, Any]:
    spec = cluster
    for field in reversed(PLACES[kind].split(".")[1:]):
        spec = {field: spec}
    spec = {**spec, **more}
    return {"apiVersion": "ray.io/v1", "kind": kind, "metadata": {"name": "r"}, "spec": spec}


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize(
    "options",
    [
        {"image": "x"},
        {"securityContext": {"privileged": True}},
        {"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]},
        {"command": ["python"]},
    ],
)
def test_the_container_of_the_autoscaler_is_named(kind: str, options: dict[str, Any]) -> None:
    place = f"{PLACES[kind]}.autoscalerOptions"

    assert unjudged(made(kind, {"autoscalerOptions": options}), NONE) == [
        f"the container of {place}, which KubeRay puts into the head"
    ]


@pytest.mark.parametrize("kind", PLACES)
def test_an_autoscaler_as_kuberay_ships_it_is_not(kind: str) -> None:
    # ray-operator/config/samples/ray-cluster.autoscaler.yaml
    options: dict[str, Any] = {
        "upscalingMode": "Default",
        "idleTimeoutSeconds": 60,
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {},
        "env": [],
        "envFrom": [],
        "resources": {"limits": {"cpu": "500m", "memory": "512Mi"}},
    }
    assert unjudged(made(kind, {"autoscalerOptions": options}), NONE) == []


@pytest.mark.parametrize(
    ("service", "named"),
    [
        ({"type": "LoadBalancer"}, True),
        ({"type": "NodePort"}, True),
        ({"externalIPs": ["1.2.3.4"]}, True),
        ({"type": "ClusterIP"}, False),
        ({}, False),
    ],
)
def test_a_service_that_reaches_out_is_named(service: dict[str, Any], named: bool) -> None:
    head = made("RayCluster", {"headGroupSpec": {"headService": {"spec": service}}})
    serve = made("RayService", {}, serveService={"spec": service})

    of_head = ["the Service of spec.headGroupSpec.headService, which KubeRay makes"]
    of_serve = ["the Service of spec.serveService, which KubeRay makes"]
    assert unjudged(head, NONE) == (of_head if named else [])
    assert unjudged(serve, NONE) == (of_serve if named else [])
