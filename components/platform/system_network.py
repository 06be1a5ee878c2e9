"""Who may reach the pods of the program's own namespaces, and where a team's pods may not go.

NetworkPolicies cannot name the API server, whose calls of webhooks come from the nodes of the
control plane: the port of each webhook is open to all. Probes, port-forwards and pods of the
host's network are not held by them (Cilium lets a node reach its own pods). The namespaces of
Metal3's hosts have none: no pod runs there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.meta.v1 import LabelSelectorArgs, ObjectMetaArgs
from pulumi_kubernetes.networking.v1 import (
    NetworkPolicy,
    NetworkPolicyIngressRuleArgs,
    NetworkPolicyPeerArgs,
    NetworkPolicyPortArgs,
    NetworkPolicySpecArgs,
)

from settings.names import (
    GPU_OPERATOR_NAMESPACE,
    KURED_NAMESPACE,
    LAKEFS_NAMESPACE,
    MONITORING_NAMESPACE,
    NODE_CHECK_NAMESPACE,
    PREFIX,
    RDMA_NAMESPACE,
    SCRATCH_NAMESPACE,
    VOLCANO_NAMESPACE,
)

OPEN_PORTS: Mapping[str, tuple[int, ...]] = {
    GPU_OPERATOR_NAMESPACE: (),
    KURED_NAMESPACE: (),
    # its own keys say who may do what
    LAKEFS_NAMESPACE: (8000,),
    # the webhook of Prometheus' operator
    MONITORING_NAMESPACE: (10250,),
    NODE_CHECK_NAMESPACE: (),
    RDMA_NAMESPACE: (),
    SCRATCH_NAMESPACE: (),
    # the webhook of Volcano
    VOLCANO_NAMESPACE: (8443,),
}
"""The ports of each namespace that everybody may reach: the targets, not those of Services.

They are those of the pinned charts: lakeFS `deployment.port` (values.yaml), kube-prometheus-stack
`prometheusOperator.tls.internalPort` (its own policy opens the same, templates/prometheus-operator/
networkpolicy.yaml), Volcano `basic.admission_port` (values.yaml, templates/admission.yaml).
"""


@dataclass(frozen=True, kw_only=True)
class SystemNetworkArgs:
    """`namespaces` are those that there are, each with what makes it.

    `bmcs` are the addresses of BMCs as ranges. The kind of their policy is there once a node is
    Ready: Cilium's agents wait for it.
    """

    namespaces: Mapping[str, pulumi.Resource]
    bmcs: Sequence[str] = field(default_factory=tuple)


class SystemNetwork(pulumi.ComponentResource):
    """A NetworkPolicy for each namespace, and one of Cilium that keeps teams off the BMCs."""

    def __init__(
        self, name: str, args: SystemNetworkArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:platform:SystemNetwork", name, None, opts)
        for space, made in args.namespaces.items():
            NetworkPolicy(
                f"{name}-{space}",
                metadata=ObjectMetaArgs(name="system", namespace=space),
                spec=_ingress(OPEN_PORTS[space]),
                opts=pulumi.ResourceOptions(parent=self, depends_on=[made]),
            )
        if args.bmcs:
            CustomResource(
                f"{name}-bmcs",
                api_version="cilium.io/v2",
                kind="CiliumClusterwideNetworkPolicy",
                metadata=ObjectMetaArgs(name="fleet-bmcs"),
                spec=_never_to(args.bmcs),
                opts=pulumi.ResourceOptions(parent=self),
            )
        self.register_outputs({})


def _ingress(ports: Sequence[int]) -> NetworkPolicySpecArgs:
    """Returns a policy: the namespace itself, what scrapes metrics, and the open ports."""
    scraping = LabelSelectorArgs(match_labels={"kubernetes.io/metadata.name": MONITORING_NAMESPACE})
    rules = [
        NetworkPolicyIngressRuleArgs(
            from_=[
                NetworkPolicyPeerArgs(pod_selector=LabelSelectorArgs()),
                NetworkPolicyPeerArgs(namespace_selector=scraping),
            ]
        )
    ]
    if ports:
        open_to_all = [NetworkPolicyPortArgs(port=port, protocol="TCP") for port in ports]
        rules.append(NetworkPolicyIngressRuleArgs(ports=open_to_all))
    return NetworkPolicySpecArgs(
        pod_selector=LabelSelectorArgs(), policy_types=["Ingress"], ingress=rules
    )


def _never_to(ranges: Sequence[str]) -> dict[str, object]:
    """Returns the spec: pods of a team never reach the ranges, and keep every other way."""
    team = f"io.cilium.k8s.namespace.labels.{PREFIX}/team"
    return {
        "description": "Pods of teams never reach the management controllers of machines.",
        "endpointSelector": {"matchExpressions": [{"key": f"k8s:{team}", "operator": "Exists"}]},
        "egressDeny": [{"toCIDR": list(ranges)}],
        "enableDefaultDeny": {"egress": False, "ingress": False},
    }
