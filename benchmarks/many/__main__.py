"""Registers the Kubernetes objects of a list, each of its own type, and nothing else."""

import json
from pathlib import Path

import pulumi
import pulumi_kubernetes as kubernetes

config = pulumi.Config("gpu-fleet")
cluster = kubernetes.Provider("cluster", kubeconfig=config.require_secret("kubeconfig"))
for number, manifest in enumerate(
    json.loads(Path(config.require("objects")).read_text(encoding="utf-8"))
):
    version = manifest["apiVersion"] if "/" in manifest["apiVersion"] else "core/v1"
    pulumi.CustomResource(
        f"kubernetes:{version}:{manifest['kind']}",
        f"object-{number}",
        manifest,
        pulumi.ResourceOptions(provider=cluster),
    )
