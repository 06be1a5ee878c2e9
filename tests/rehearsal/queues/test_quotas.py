"""What no rule sees, because it has no pods in it, is stopped by the quota of the queue."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.rehearsal.queues.conftest import GROUP, Queues

PER_POD = 8
LABELS = {"app": "serve"}


@pytest.fixture(params=[("burst", 16), ("research", 3 * 16)], ids=lambda each: str(each[0]))
def scaled(queues: Queues, request: pytest.FixtureRequest) -> Iterator[tuple[str, int]]:
    """A Deployment of one pod that somebody of the team scales to 500; its place and most GPUs."""
    namespace, most = request.param
    limits = {"nvidia.com/gpu": PER_POD, "cpu": "1", "memory": "1Gi"}
    container = {"name": "serve", "image": "registry.fleet.example/serve"}
    held = [{**container, "resources": {"limits": limits}}]
    pod = {"containers": held, "schedulerName": "volcano"}
    template = {"metadata": {"labels": LABELS}, "spec": pod}
    spec = {"replicas": 1, "selector": {"matchLabels": LABELS}, "template": template}
    place = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "serve"}}
    queues.api.create(place, {**deployment, "spec": spec})
    of_scale = {"apiVersion": "autoscaling/v1", "kind": "Scale"}
    metadata = {"name": "serve", "namespace": namespace}
    body = {**of_scale, "metadata": metadata, "spec": {"replicas": 500}}
    of_team = {"Impersonate-User": "ada", "Impersonate-Group": GROUP}
    queues.api.request("PUT", f"{place}/serve/scale", body, headers=of_team)
    yield namespace, most
    queues.api.delete(f"{place}/serve")


def test_a_service_that_is_scaled_beyond_its_queue_gets_no_more_pods(
    queues: Queues, scaled: tuple[str, int]
) -> None:
    namespace, most = scaled

    def conditions() -> list[Mapping[str, Any]]:
        sets = queues.api.items(f"/apis/apps/v1/namespaces/{namespace}/replicasets")
        return [found for each in sets for found in each["status"].get("conditions", [])]

    def stopped() -> bool:
        return any("exceeded quota: gpus" in str(each.get("message")) for each in conditions())

    queues.until(stopped, "the quota")

    def pods() -> int:
        return len(queues.api.items(f"/api/v1/namespaces/{namespace}/pods"))

    queues.until(lambda: pods() == most // PER_POD, "as many pods as the queue has GPUs for")
