"""Hetzner's cloud controller and its volume driver, for the servers of the fleet at Hetzner."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
from pulumi_kubernetes.core.v1 import Secret
from pulumi_kubernetes.helm.v3 import Release, RepositoryOptsArgs
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

from settings.names import CLUSTER_LABEL, KUBE_SYSTEM, PREFIX
from settings.versions import HCLOUD_CLOUD_CONTROLLER_MANAGER, HCLOUD_CSI

HCLOUD = "hcloud"  # the Secret for which both charts look
STORAGE_CLASS = "hcloud-volumes"
"""The storage class that the volumes' chart makes; the cluster's default."""
# the controller labels the servers that it knows so
ON_HETZNER = {"instance.hetzner.cloud/provided-by": "cloud"}

VOLUMES_TIMEOUT_S = 600

CONTROLLER = {
    "args": {"controllers": "*,-cloud-node-lifecycle-controller"},
    "env": {
        # nodes answer on their private addresses alone
        "HCLOUD_NETWORK": {"valueFrom": {"secretKeyRef": {"name": HCLOUD, "key": "network"}}},
        # pods go through Cilium's tunnel
        "HCLOUD_NETWORK_ROUTES_ENABLED": {"value": "false"},
        # else it ends at once on a node that is no server of the network, and the scheduler knows
        # which are none only by the label that it gives
        "HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK": {"value": "true"},
    },
}
VOLUMES: dict[str, Mapping[str, object]] = {
    # a volume cannot leave Hetzner Cloud: its pods are told so
    "global": {"enableProvidedByTopology": True},
    "controller": {"nodeSelector": ON_HETZNER},
    # elsewhere the driver asks for metadata that is not there and never starts
    "node": {"nodeSelector": ON_HETZNER},
}


@dataclass(frozen=True, kw_only=True)
class HetznerCloudArgs:
    """The project's token, the cluster, and the private network of the servers by name."""

    token: pulumi.Input[str] = field(repr=False)
    cluster: str
    network: str


class HetznerCloud(pulumi.ComponentResource):
    """The Secret with the token, the cloud controller and the volume driver.

    The controller may not remove nodes: it looks for every node of the cluster in the project, and
    would delete a DGX that is down for a while because Hetzner has no such server. The Node of a
    server that is gone for good is thus for people to delete.
    """

    name: str
    secret: Secret
    controller: Release

    def __init__(
        self, name: str, args: HetznerCloudArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:platform:HetznerCloud", name, None, opts)
        self.name = name
        self._cluster = args.cluster
        child = pulumi.ResourceOptions(parent=self)
        self.secret = Secret(
            f"{name}-secret",
            metadata=ObjectMetaArgs(name=HCLOUD, namespace=KUBE_SYSTEM),
            string_data={"token": pulumi.Output.secret(args.token), "network": args.network},
            opts=child,
        )
        # pods read the token when they start: another one must start others
        digest = pulumi.Output.secret(args.token).apply(_digest)
        self._restarts = {"podAnnotations": {f"{PREFIX}/secret": digest}}
        self.controller = Release(
            f"{name}-controller",
            name=HCLOUD_CLOUD_CONTROLLER_MANAGER.name,
            namespace=KUBE_SYSTEM,
            chart=HCLOUD_CLOUD_CONTROLLER_MANAGER.name,
            version=HCLOUD_CLOUD_CONTROLLER_MANAGER.version,
            repository_opts=RepositoryOptsArgs(repo=HCLOUD_CLOUD_CONTROLLER_MANAGER.repository),
            values={**CONTROLLER, **self._restarts},
            skip_await=True,  # it may run on the servers that wait for it
            # the chart names the Secret in its values, which is no edge of the graph
            opts=pulumi.ResourceOptions(parent=self, depends_on=[self.secret]),
        )
        self.register_outputs({"storageClass": STORAGE_CLASS})

    def volumes(self, machines: Sequence[pulumi.Resource]) -> Release:
        """Register the volume driver, which needs `machines` to run on; return its Release.

        It is a step of its own: machines come after the cloud controller and before the driver.
        """
        return Release(
            f"{self.name}-volumes",
            name=HCLOUD_CSI.name,
            namespace=KUBE_SYSTEM,
            chart=HCLOUD_CSI.name,
            version=HCLOUD_CSI.version,
            repository_opts=RepositoryOptsArgs(repo=HCLOUD_CSI.repository),
            values={
                **VOLUMES,
                "controller": {
                    **VOLUMES["controller"],
                    **self._restarts,
                    # a project may have the volumes of several clusters
                    "volumeExtraLabels": {CLUSTER_LABEL: self._cluster},
                },
                "node": {**VOLUMES["node"], **self._restarts},
            },
            timeout=VOLUMES_TIMEOUT_S,
            # the driver asks for the label that the controller gives to its servers
            opts=pulumi.ResourceOptions(
                parent=self, depends_on=[self.secret, self.controller, *machines]
            ),
        )


def _digest(token: str) -> str:
    """Return a digest of a token, which is too long and random to be guessed from it."""
    return hashlib.sha256(token.encode()).hexdigest()[:16]
