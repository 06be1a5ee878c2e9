"""The rules at the API server: its own ValidatingAdmissionPolicies, so that no webhook has to run.

What they are made from is the same rule that a preview holds its resources to; the manifests come
from `policies.gates.admission`, and this component only registers them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.core.v1 import ConfigMap, Namespace
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs


@dataclass(frozen=True, kw_only=True)
class AdmissionArgs:
    """The manifests in their order: a Namespace, a ConfigMap, then policies and bindings."""

    manifests: Sequence[Mapping[str, object]]


class Admission(pulumi.ComponentResource):
    """A policy and a binding for each rule, over one ConfigMap of settings."""

    def __init__(
        self, name: str, args: AdmissionArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:platform:Admission", name, None, opts)
        made: list[pulumi.Resource] = []
        for manifest in cast("Sequence[dict[str, Any]]", args.manifests):
            # a binding whose settings are not there yet would refuse everything
            child = pulumi.ResourceOptions(parent=self, depends_on=made[:2])
            made.append(_register(name, manifest, child))
        self.register_outputs({})


def _register(name: str, manifest: dict[str, Any], opts: pulumi.ResourceOptions) -> pulumi.Resource:
    kind, metadata = manifest["kind"], ObjectMetaArgs(**manifest["metadata"])
    if kind == "Namespace":
        return Namespace(f"{name}-namespace", metadata=metadata, opts=opts)
    if kind == "ConfigMap":
        return ConfigMap(f"{name}-settings", metadata=metadata, data=manifest["data"], opts=opts)
    suffix = "-binding" if kind.endswith("Binding") else ""
    return CustomResource(
        f"{name}-{manifest['metadata']['name'].removeprefix('fleet-')}{suffix}",
        api_version=manifest["apiVersion"],
        kind=kind,
        metadata=metadata,
        spec=manifest["spec"],
        opts=opts,
    )
