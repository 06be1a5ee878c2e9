"""NVIDIA's GPU Operator for Flatcar, which itself brings the driver and the container runtime."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import yaml
from pulumi_kubernetes.helm.v3 import Release, RepositoryOptsArgs

from settings.gpu_sharing import GpuSharing, mig_config
from settings.names import GPU, GPU_OPERATOR_NAMESPACE
from settings.versions import GPU_OPERATOR

ALL_DISABLED = "all-disabled"  # the operator gives it to every node that names no layout


@dataclass(frozen=True, kw_only=True)
class GpuOperatorArgs:
    """The GPU sharing of each pool by name, and the chart's block `dcgmExporter`.

    `monitors` brings the kind of its ServiceMonitor.
    """

    pools: Mapping[str, GpuSharing]
    dcgm_exporter: Mapping[str, object]
    monitors: pulumi.Resource


class GpuOperator(pulumi.ComponentResource):
    """The chart with a device plugin configuration for each way of sharing and each MIG layout."""

    release: Release

    def __init__(
        self, name: str, args: GpuOperatorArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:platform:GpuOperator", name, None, opts)
        self.release = Release(
            f"{name}-release",
            name="gpu-operator",
            namespace=GPU_OPERATOR_NAMESPACE,
            create_namespace=True,
            chart=GPU_OPERATOR.name,
            version=GPU_OPERATOR.version,
            repository_opts=RepositoryOptsArgs(repo=GPU_OPERATOR.repository),
            values=_values(args),
            timeout=900,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[args.monitors]),
        )
        self.register_outputs({"version": GPU_OPERATOR.version})


def _values(args: GpuOperatorArgs) -> dict[str, object]:
    return {
        # Flatcar's /usr is read-only and its driver a signed extension; the runtime's extension
        # makes nvidia containerd's default, which the operator wants of such nodes
        "driver": {"enabled": False},
        "toolkit": {"enabled": False},
        "cdi": {"enabled": True},
        # the operator's newer kind wants driver 580; Flatcar's newest extension is 570
        "clusterPolicy": {"deployCR": True},
        "gpuCluster": {"deployCR": False},
        "nfd": {"enabled": True},
        # a CPU asked for on every node is one that no job can have of them all
        "node-feature-discovery": {"worker": {"resources": {"requests": {"cpu": 0}}}},
        "gfd": {"enabled": True},
        # an instance is a resource of its own, never a GPU: who asks for a GPU gets a whole one
        "mig": {"strategy": "mixed"},
        "devicePlugin": {
            "config": {
                **_config_map("device-plugin", device_plugin_configs(args.pools)),
                "default": GpuSharing().config,
            }
        },
        "migManager": _mig_manager(args.pools),
        "dcgmExporter": dict(args.dcgm_exporter),
    }


def device_plugin_configs(pools: Mapping[str, GpuSharing]) -> dict[str, str]:
    """Returns the device plugin's configuration for each way of sharing, as YAML by name."""
    ways = {sharing.config: sharing for sharing in (GpuSharing(), *pools.values())}
    return {name: _yaml(_device_plugin(sharing)) for name, sharing in ways.items()}


def _device_plugin(sharing: GpuSharing) -> dict[str, object]:
    found: dict[str, object] = {"version": "v1", "flags": {"migStrategy": "mixed"}}
    resources = [{"name": GPU, "replicas": sharing.replicas}]
    if sharing.mode == "time-slicing":
        # two slices give no more of a GPU than one, so a pod that asks for two is mistaken
        found["sharing"] = {
            "timeSlicing": {"failRequestsGreaterThanOne": True, "resources": resources}
        }
    elif sharing.mode == "mps":
        found["sharing"] = {"mps": {"resources": resources}}
    return found


def _mig_manager(pools: Mapping[str, GpuSharing]) -> dict[str, object]:
    layouts = mig_layouts(pools)
    if not layouts:
        return {"enabled": False}
    disabled = [{"devices": "all", "mig-enabled": False}]
    configs = {"version": "v1", "mig-configs": {ALL_DISABLED: disabled, **layouts}}
    return {
        "enabled": True,
        "config": {
            **_config_map("mig-layouts", {"config.yaml": _yaml(configs)}),
            "default": ALL_DISABLED,
        },
    }


def mig_layouts(pools: Mapping[str, GpuSharing]) -> dict[str, object]:
    """Returns the layout of each pool with MIG, by the value of its nodes' label."""
    return {
        mig_config(pool): [
            {"devices": "all", "mig-enabled": True, "mig-devices": dict(sharing.mig_layout)}
        ]
        for pool, sharing in pools.items()
        if sharing.mig_layout is not None
    }


def _config_map(name: str, data: Mapping[str, str]) -> dict[str, object]:
    """Names the ConfigMap by its data: nobody watches it, so new data must replace the pods."""
    digest = hashlib.sha256(_yaml(dict(data)).encode()).hexdigest()[:8]
    return {"create": True, "name": f"fleet-{name}-{digest}", "data": dict(data)}


def _yaml(value: Mapping[str, object]) -> str:
    return yaml.safe_dump(dict(value), sort_keys=False)
