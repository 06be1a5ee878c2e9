"""Waits until Metal3 has let a host go, before anybody deletes it."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import pulumi
from lightkube import Client
from pulumi.dynamic import CreateResult, DiffResult, Resource, UpdateResult

from kube import metal3
from kube.client import KubeError
from kube.resources.provider import ClusterProvider, difference, in_cluster
from kube.waiting import duration, say, wait


@dataclass(frozen=True, kw_only=True)
class HostDetachedArgs:
    """The BareMetalHost by namespace and name, and the longest wait.

    `host` is an output of the host: so it has its annotation before this waits, and is deleted
    after this.
    """

    namespace: str
    host: pulumi.Input[str]
    timeout_s: int


class HostDetachedProvider(ClusterProvider):
    """Waits when it is made, and again before it goes, because the host may go right after it."""

    def diff(self, _id: str, olds: dict[str, Any], news: dict[str, Any]) -> DiffResult:
        return difference(olds, news, updates=("namespace", "host", "timeout_s"))

    def create(self, props: dict[str, Any]) -> CreateResult:
        _wait(self.cluster(), props)
        return CreateResult(props["host"], props)

    def update(self, _id: str, _olds: dict[str, Any], news: dict[str, Any]) -> UpdateResult:
        return UpdateResult(news)

    def delete(self, _id: str, props: dict[str, Any]) -> None:
        in_cluster(lambda: _end(self.cluster(), props))


class HostDetached(Resource, module="kube", name="HostDetached"):
    """Is there once Metal3's status of a host says `detached`: its deletion wipes nothing then.

    A host that is deleted before is deprovisioned: its annotation alone holds nothing back
    (checkInitiateDelete in internal/controller/metal3.io/host_state_machine.go of
    baremetal-operator v0.13.2), and Metal3 detaches only a host that is provisioned or available.
    """

    host: pulumi.Output[str]

    def __init__(
        self, name: str, args: HostDetachedArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        properties = {
            "namespace": args.namespace,
            "host": args.host,
            "timeout_s": args.timeout_s,
        }
        super().__init__(HostDetachedProvider(), name, properties, opts)


def _end(cluster: Client, props: dict[str, Any]) -> None:
    # once without patience: a cluster that is gone for good does not count as one that waits
    if _not_detached(cluster, props):
        _wait(cluster, props)


def _wait(cluster: Client, props: dict[str, Any]) -> None:
    lacking = wait(partial(_not_detached, cluster, props), timeout_s=props["timeout_s"], tell=say)
    if lacking:
        raise KubeError(
            f"After {duration(props['timeout_s'])} {lacking}. Metal3 would wipe the machine if the "
            "host went now: look at the host's events and at Ironic, then run the same command "
            "again."
        )


def _not_detached(cluster: Client, props: dict[str, Any]) -> str | None:
    """Return why a host is not detached; None, too, where it is gone or is to stay after all."""
    host = metal3.find(cluster, props["namespace"], props["host"])
    if host is None or metal3.DETACHED not in metal3.annotations(host):
        return None
    status = host.get("status") or {}
    if status.get("operationalStatus") == "detached":
        return None
    message = f" ({status['errorMessage']})" if status.get("errorMessage") else ""
    return f"Metal3 has not let {props['host']} go, which is {metal3.state(host)}{message}"
