"""Karpenter's CRDs as their pinned chart: pools on AWS are objects of these kinds."""

import pulumi
from pulumi_kubernetes.helm.v3 import Release

from components.versions import KARPENTER_CRD

NAMESPACE = "kube-system"


class Karpenter(pulumi.ComponentResource):
    """The chart karpenter-crd: the controller's own chart installs CRDs but never upgrades them."""

    crds: Release

    def __init__(self, name: str, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpu:platform:Karpenter", name, None, opts)
        self.crds = Release(
            f"{name}-crd",
            name="karpenter-crd",
            namespace=NAMESPACE,
            chart=KARPENTER_CRD.name,
            version=KARPENTER_CRD.version,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.register_outputs({"version": KARPENTER_CRD.version})
