"""Keeps pods from the metadata service of clouds, which hands out what a machine was booted with.

At Hetzner that is the whole user data with the machine's bootstrap token, for as long as the server
lives, and no hop limit stands before it (docs.hetzner.cloud, "Server metadata"). On AWS a hop limit
of 1 does, and this is the second lock.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

from settings.names import KUBE_SYSTEM

SERVICE = ("169.254.169.254/32", "fd00:ec2::254/128")
"""Of Hetzner and AWS; the second is AWS's in IPv6."""
_NAMESPACE = "k8s:io.kubernetes.pod.namespace"
_NAME = "k8s:app.kubernetes.io/name"
_COMPONENT = "k8s:app.kubernetes.io/component"


@dataclass(frozen=True, kw_only=True)
class MetadataGuardArgs:
    """`after` brings Cilium's kinds: Cilium, or better a node that is Ready by it."""

    after: Sequence[pulumi.Resource]


class MetadataGuard(pulumi.ComponentResource):
    """A policy for all pods but those of Hetzner's volume driver on nodes.

    Pods with the network of their host are beyond it: no policy of Cilium's selects them. The rule
    isolation/host-access and Pod Security say who may be one.
    """

    def __init__(
        self, name: str, args: MetadataGuardArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:platform:MetadataGuard", name, None, opts)
        for who, spec in specs().items():
            CustomResource(
                f"{name}-{who}",
                api_version="cilium.io/v2",
                kind="CiliumClusterwideNetworkPolicy",
                metadata=ObjectMetaArgs(name=f"no-cloud-metadata-{who}"),
                spec=spec,
                opts=pulumi.ResourceOptions(parent=self, depends_on=list(args.after)),
            )
        self.register_outputs({})


def specs() -> dict[str, dict[str, object]]:
    """Return one policy for each way not to be the volume driver's pod on a node.

    That pod asks its machine for its own location (csi-driver, internal/app/app.go). A denial wins
    over any permission, so the policies must not select it, and the requirements of a selector are
    all to hold: hence three. A label alone exempts nobody, since it counts in kube-system only.
    """
    here = _is(_NAMESPACE, "In", KUBE_SYSTEM)
    return {
        "pods": _denied(_is(_NAMESPACE, "NotIn", KUBE_SYSTEM)),
        "system-pods": _denied(here, _is(_NAME, "NotIn", "hcloud-csi")),
        "system-controllers": _denied(here, _is(_COMPONENT, "NotIn", "node")),
    }


def _denied(*requirements: dict[str, object]) -> dict[str, object]:
    return {
        "endpointSelector": {"matchExpressions": list(requirements)},
        "egressDeny": [{"toCIDR": list(SERVICE)}],
        # without this a pod that is selected may reach nothing that no rule allows
        "enableDefaultDeny": {"egress": False, "ingress": False},
    }


def _is(label: str, operator: str, value: str) -> dict[str, object]:
    return {"key": label, "operator": operator, "values": [value]}
