"""The load balancer of a Service, as something that goes while its cloud controller runs."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import pulumi
from lightkube import Client
from lightkube.core.exceptions import ApiError
from pulumi.dynamic import CreateResult, DiffResult, Resource, UpdateResult

from kube.client import KubeError
from kube.kinds import Service
from kube.resources.provider import ClusterProvider, difference, in_cluster
from kube.waiting import duration, say, wait

NOT_FOUND = 404
TIMEOUT_S = 900


@dataclass(frozen=True, kw_only=True)
class LoadBalancerArgs:
    """The Service of type LoadBalancer that a chart makes."""

    namespace: str
    service: str


class LoadBalancerProvider(ClusterProvider):
    """Does nothing until it is deleted: then it deletes the Service and waits until it is gone.

    A cloud controller puts the finalizer service.kubernetes.io/load-balancer-cleanup on such a
    Service, and takes it off when the load balancer is deleted (Kubernetes, "Create an External
    Load Balancer"). Helm would delete the Service, too, but of that nobody waits for the end.
    """

    def diff(self, _id: str, olds: dict[str, Any], news: dict[str, Any]) -> DiffResult:
        return difference(olds, news, replaces=("namespace", "service"))

    def create(self, props: dict[str, Any]) -> CreateResult:
        return CreateResult(f"{props['namespace']}/{props['service']}", props)

    def update(self, _id: str, _olds: dict[str, Any], news: dict[str, Any]) -> UpdateResult:
        return UpdateResult(news)

    def delete(self, _id: str, props: dict[str, Any]) -> None:
        in_cluster(lambda: _end(self.cluster(), props["namespace"], props["service"]))


class LoadBalancer(Resource, module="kube", name="LoadBalancer"):
    """Depends on the cloud controller and on the chart with the Service, so it goes before both."""

    service: pulumi.Output[str]

    def __init__(
        self, name: str, args: LoadBalancerArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        properties = {"namespace": args.namespace, "service": args.service}
        super().__init__(LoadBalancerProvider(), name, properties, opts)


def _end(cluster: Client, namespace: str, name: str) -> None:
    # once without patience: a cluster that is gone for good does not count as one that waits
    if _there(cluster, namespace, name) is None:
        return
    lacking = wait(partial(_there, cluster, namespace, name), timeout_s=TIMEOUT_S, tell=say)
    if lacking:
        raise KubeError(
            f"After {duration(TIMEOUT_S)} {lacking}. Look whether the cloud controller runs, then "
            "run the same command again."
        )


def _there(cluster: Client, namespace: str, name: str) -> str | None:
    """Delete the Service where it is not being deleted yet, and say that it is there."""
    try:
        service = cluster.get(Service, name, namespace=namespace)
        if service.metadata and service.metadata.deletionTimestamp is None:
            cluster.delete(Service, name, namespace=namespace)
    except ApiError as error:
        if error.status.code == NOT_FOUND:
            return None
        raise
    return f"the load balancer of Service {namespace}/{name} is still there"
