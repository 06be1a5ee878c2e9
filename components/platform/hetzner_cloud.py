"""Hetzner's cloud controller and its volume driver, for the servers of the fleet at Hetzner."""

from dataclasses import dataclass, field

import pulumi
from pulumi_kubernetes.core.v1 import Secret
from pulumi_kubernetes.helm.v3 import Release, RepositoryOptsArgs
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

from settings.names import KUBE_SYSTEM
from settings.versions import HCLOUD_CLOUD_CONTROLLER_MANAGER, HCLOUD_CSI

HCLOUD = "hcloud"  # the Secret for which both charts look
STORAGE_CLASS = "hcloud-volumes"
"""The storage class that the volumes' chart makes; the cluster's default."""
# the controller labels the servers that it knows so
ON_HETZNER = {"instance.hetzner.cloud/provided-by": "cloud"}

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
VOLUMES = {
    # a volume cannot leave Hetzner Cloud: its pods are told so
    "global": {"enableProvidedByTopology": True},
    "controller": {"nodeSelector": ON_HETZNER},
    # elsewhere the driver asks for metadata that is not there and never starts
    "node": {"nodeSelector": ON_HETZNER},
}


@dataclass(frozen=True, kw_only=True)
class HetznerCloudArgs:
    """The project's token, and the private network of the servers by name."""

    token: pulumi.Input[str] = field(repr=False)
    network: str


class HetznerCloud(pulumi.ComponentResource):
    """The Secret with the token, the cloud controller and the volume driver.

    The controller may not remove nodes: it looks for every node of the cluster in the project, and
    would delete a DGX that is down for a while because Hetzner has no such server. The Node of a
    server that is gone for good is thus for people to delete.
    """

    def __init__(
        self, name: str, args: HetznerCloudArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:platform:HetznerCloud", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        secret = Secret(
            f"{name}-secret",
            metadata=ObjectMetaArgs(name=HCLOUD, namespace=KUBE_SYSTEM),
            string_data={"token": pulumi.Output.secret(args.token), "network": args.network},
            opts=child,
        )
        # the charts name the Secret in their values, which is no edge of the graph
        after_secret = pulumi.ResourceOptions(parent=self, depends_on=[secret])
        for suffix, chart, values in (
            ("controller", HCLOUD_CLOUD_CONTROLLER_MANAGER, CONTROLLER),
            ("volumes", HCLOUD_CSI, VOLUMES),
        ):
            Release(
                f"{name}-{suffix}",
                name=chart.name,
                namespace=KUBE_SYSTEM,
                chart=chart.name,
                version=chart.version,
                repository_opts=RepositoryOptsArgs(repo=chart.repository),
                values=values,
                opts=after_secret,
            )
        self.register_outputs({"storageClass": STORAGE_CLASS})
