"""Cilium, the network of pods and Services across all sites, as its pinned chart.

It stands in for kube-proxy: a cluster is created without one (kubeadm's `proxy.disabled`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.helm.v3 import Release, RepositoryOptsArgs

from kube.resources.load_balancer import LoadBalancer, LoadBalancerArgs
from settings.names import KUBE_SYSTEM, ingress_balancer
from settings.versions import CILIUM

# The smallest link on the way of a packet: a Hetzner vSwitch carries 1,400 bytes, its cloud network
# 1,450, a WireGuard gateway between sites 1,420. Cilium takes the 50 of VXLAN and the 80 of its own
# WireGuard off this itself. Not seen by its probe, which looks at a node's own card (often 9,000).
LINK_MTU = 1400
INGRESS_SERVICE = "cilium-ingress"  # of the chart, for all Ingresses of its class


@dataclass(frozen=True, kw_only=True)
class CiliumArgs:
    """The cluster's name, the range of its pods, and its API server as host:port.

    `ingress_location` is the Hetzner location of a load balancer before Ingresses of the class
    cilium; None for a cluster that serves nothing to the outside.
    """

    cluster: str
    pod_cidr: str
    endpoint: str
    ingress_location: str | None = None


class Cilium(pulumi.ComponentResource):
    """Pods of all sites in one VXLAN, encrypted between nodes.

    Traffic between GPUs takes another way only where the pool has a fabric and the job asks for its
    device (settings/fabric.py): else NCCL finds the pod's interface alone, and this is it.
    """

    name: str
    release: Release

    def __init__(
        self, name: str, args: CiliumArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:platform:Cilium", name, None, opts)
        self.release = Release(
            f"{name}-release",
            name="cilium",
            namespace=KUBE_SYSTEM,
            chart=CILIUM.name,
            version=CILIUM.version,
            repository_opts=RepositoryOptsArgs(repo=CILIUM.repository),
            values=_values(args),
            skip_await=True,  # its pods need nodes, and nodes are Ready only with its pods
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.name = name
        self.register_outputs({"version": CILIUM.version})

    def load_balancer(self, controllers: Sequence[pulumi.Resource]) -> None:
        """Register the end of the ingress's load balancer, which `controllers` make and delete."""
        args = LoadBalancerArgs(namespace=KUBE_SYSTEM, service=INGRESS_SERVICE)
        opts = pulumi.ResourceOptions(parent=self, depends_on=[self.release, *controllers])
        LoadBalancer(f"{self.name}-load-balancer", args, opts)


def _values(args: CiliumArgs) -> dict[str, object]:
    host, _, port = args.endpoint.rpartition(":")
    return {
        # no route of a cloud leads to pods at another site, nor over a vSwitch
        "routingMode": "tunnel",
        "tunnelProtocol": "vxlan",
        "MTU": LINK_MTU,
        # sites are joined over the internet; UDP 51871 between nodes
        "encryption": {"enabled": True, "type": "wireguard"},
        # Cilium cuts the range itself: nothing here says what kubeadm's controller manager was told
        "ipam": {
            "mode": "cluster-pool",
            "operator": {"clusterPoolIPv4PodCIDRList": [args.pod_cidr]},
        },
        # Services, too: its ingress controller wants that (github.com/cilium/cilium/pull/41380)
        "kubeProxyReplacement": True,
        # no Service leads an agent to the API server before it has come up itself
        "k8sServiceHost": host,
        "k8sServicePort": int(port),
        # a CPU asked for on every node is one that no job can have of them all; agents run on the
        # CPUs that nodes keep for themselves
        "cni": {"resources": {"requests": {"cpu": 0}}},
        **({} if args.ingress_location is None else _ingress(args.cluster, args.ingress_location)),
    }


def _ingress(cluster: str, location: str) -> dict[str, object]:
    """Cilium's ingress controller, which speaks through a Service of type LoadBalancer.

    Hetzner's cloud controller makes its load balancer from these annotations.
    """
    annotations = {
        "name": ingress_balancer(cluster),  # it has no label with the cluster
        "location": location,
        # the servers' firewall lets nothing in on their public addresses
        "use-private-ip": "true",
        # else an Ingress would show the load balancer's private address beside its public one
        "disable-private-ingress": "true",
        # it knows no other machine of the cluster
        "node-selector": "instance.hetzner.cloud/provided-by=cloud",
    }
    return {
        "ingressController": {
            "enabled": True,
            "loadbalancerMode": "shared",
            "service": {
                "annotations": {
                    f"load-balancer.hetzner.cloud/{key}": text for key, text in annotations.items()
                }
            },
        },
    }
