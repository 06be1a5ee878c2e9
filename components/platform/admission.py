"""The rules at the API server: its own ValidatingAdmissionPolicies, so that no webhook has to run.

What they are made from is the same rule that a preview holds its resources to; the manifests come
from `policies.gates.admission`, and this component only registers them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs


@dataclass(frozen=True, kw_only=True)
class AdmissionArgs:
    """The manifests of policies and bindings."""

    manifests: Sequence[Mapping[str, object]]


class Admission(pulumi.ComponentResource):
    """A policy and its binding for each pack of rules and what it does."""

    def __init__(
        self, name: str, args: AdmissionArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:platform:Admission", name, None, opts)
        for manifest in cast("Sequence[dict[str, Any]]", args.manifests):
            suffix = "-binding" if manifest["kind"].endswith("Binding") else ""
            CustomResource(
                f"{name}-{manifest['metadata']['name'].removeprefix('fleet-')}{suffix}",
                api_version=manifest["apiVersion"],
                kind=manifest["kind"],
                metadata=ObjectMetaArgs(**manifest["metadata"]),
                spec=manifest["spec"],
                opts=pulumi.ResourceOptions(parent=self),
            )
        self.register_outputs({})
