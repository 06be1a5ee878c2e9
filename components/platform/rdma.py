"""The device plugins by which pods reach the network between GPUs.

- Owned machines: k8s-rdma-shared-dev-plugin 1.5.3, a DaemonSet of our own for each pool with a
  fabric, as upstream's deployment/k8s/base has it. A unit of `rdma/rails` gives a pod the character
  devices of all compute rails of its machine. Why this one: docs/decisions/0018.
- Rented machines: AWS's device plugin, for `vpc.amazonaws.com/efa`. Its chart names an image that
  asks for AWS credentials, which the nodes of this fleet have not; the public mirror does not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.apps.v1 import DaemonSet
from pulumi_kubernetes.core.v1 import (
    ContainerArgsDict,
    Namespace,
    NodeAffinityArgsDict,
    NodeSelectorRequirementArgsDict,
    PodSpecArgsDict,
    VolumeArgsDict,
    VolumeMountArgsDict,
)
from pulumi_kubernetes.helm.v3 import Release, RepositoryOptsArgs
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

from settings.names import (
    POD_SECURITY,
    POOL_LABEL,
    PROGRAM_LABEL,
    RDMA_LABEL,
    RDMA_NAME,
    RDMA_NAMESPACE,
    RDMA_PREFIX,
)
from settings.versions import EFA_DEVICE_PLUGIN, EFA_DEVICE_PLUGIN_IMAGE, RDMA_DEVICE_PLUGIN_IMAGE

NAME = "fleet-rdma"
_CONFIG = "/k8s-rdma-shared-dev-plugin"
_NVIDIA = "15b3"  # the PCI vendor of ConnectX cards
# The plugin selects cards by the names of their network interfaces, which differ from machine to
# machine; the catalogue knows the names of the RDMA devices. A rail that is missing ends the pod:
# a node that offered seven of eight would slow every gang without a word.
CONFIGURE = """\
names=
for rail in $RAILS; do
  found=
  for link in "$DEVICES/$rail"/device/net/*; do
    [ -e "$link" ] || continue
    found=yes
    names="$names,\\"${link##*/}\\""
  done
  if [ -z "$found" ]; then
    echo "the rail $rail of the catalogue has no network interface on this machine" >&2
    exit 1
  fi
done
selectors=$(printf '{"vendors": ["%s"], "ifNames": [%s]}' "$VENDOR" "${names#,}")
printf '{"periodicUpdateInterval": 300, "configList": [
 {"resourcePrefix": "%s", "resourceName": "%s", "rdmaHcaMax": %s, "selectors": %s}]}' \\
  "$PREFIX" "$NAME" "$PODS" "$selectors" > "$CONFIG"
"""


@dataclass(frozen=True, kw_only=True)
class Rails:
    """The RDMA devices of a machine of a pool, and how many pods may share them."""

    devices: Sequence[str]
    pods: int


@dataclass(frozen=True, kw_only=True)
class RdmaDevicesArgs:
    """The rails of each pool with a fabric by its name, and whether any pool has EFA."""

    rails: Mapping[str, Rails]
    efa: bool


class RdmaDevices(pulumi.ComponentResource):
    """A namespace with the device plugins that the environment's pools need."""

    def __init__(
        self, name: str, args: RdmaDevicesArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:platform:RdmaDevices", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        space = Namespace(
            f"{name}-namespace",
            metadata=ObjectMetaArgs(
                name=RDMA_NAMESPACE,
                labels={POD_SECURITY: "privileged"},
            ),
            opts=child,
        )
        for pool, rails in args.rails.items():
            labelled = {PROGRAM_LABEL: NAME, POOL_LABEL: pool}
            DaemonSet(
                f"{name}-{pool}",
                metadata=ObjectMetaArgs(
                    name=f"{NAME}-{pool}", namespace=space.metadata.name, labels=labelled
                ),
                spec={
                    "selector": {"match_labels": labelled},
                    "template": {"metadata": {"labels": labelled}, "spec": pod(pool, rails)},
                },
                opts=child,
            )
        if args.efa:
            Release(
                f"{name}-efa",
                name="aws-efa-k8s-device-plugin",
                namespace=space.metadata["name"],
                chart=EFA_DEVICE_PLUGIN.name,
                version=EFA_DEVICE_PLUGIN.version,
                repository_opts=RepositoryOptsArgs(repo=EFA_DEVICE_PLUGIN.repository),
                values=_efa_values(),
                opts=child,
            )
        self.register_outputs({})


def pod(pool: str, rails: Rails) -> PodSpecArgsDict:
    """Return the spec of the plugin's pod on the machines of a pool.

    It needs the host's network to see the interfaces of the rails, and is privileged to hand out
    devices below /dev/infiniband.
    """
    return {
        # not a node selector, by which jobs say whose GPUs they want, and are held to it
        "affinity": {"node_affinity": _on(pool)},
        "tolerations": [{"operator": "Exists"}],
        "priority_class_name": "system-node-critical",
        "host_network": True,
        "automount_service_account_token": False,
        "init_containers": [
            {
                **_container("configure"),
                "command": ["/bin/sh", "-ec", CONFIGURE],
                "env": [
                    {"name": key, "value": value}
                    for key, value in configuration(rails, f"{_CONFIG}/config.json").items()
                ],
            }
        ],
        "containers": [_container("plugin")],
        "volumes": _volumes(),
    }


def _on(pool: str) -> NodeAffinityArgsDict:
    term: NodeSelectorRequirementArgsDict = {"key": POOL_LABEL, "operator": "In", "values": [pool]}
    return {
        "required_during_scheduling_ignored_during_execution": {
            "node_selector_terms": [{"match_expressions": [term]}]
        }
    }


def _volumes() -> list[VolumeArgsDict]:
    folders: list[VolumeArgsDict] = [
        {
            "name": _volume(folder),
            "host_path": {"path": f"/var/lib/kubelet/{folder}", "type": "Directory"},
        }
        for folder in _KUBELET
    ]
    return [
        {"name": "config", "empty_dir": {}},
        {"name": "devices", "host_path": {"path": "/dev", "type": "Directory"}},
        *folders,
    ]


def _volume(folder: str) -> str:
    return folder.replace("_", "-")  # which the name of a volume cannot have


_KUBELET = ("device-plugins", "plugins_registry")


def configuration(rails: Rails, config: str) -> dict[str, str]:
    """Return the environment of the script that writes the plugin's configuration to `config`."""
    return {
        "RAILS": " ".join(rails.devices),
        "DEVICES": "/sys/class/infiniband",
        "PREFIX": RDMA_PREFIX,
        "NAME": RDMA_NAME,
        "PODS": str(rails.pods),
        "VENDOR": _NVIDIA,
        "CONFIG": config,
    }


def _container(name: str) -> ContainerArgsDict:
    mounts: list[VolumeMountArgsDict] = [
        {"name": _volume(folder), "mount_path": f"/var/lib/kubelet/{folder}"} for folder in _KUBELET
    ]
    return {
        "name": name,
        "image": RDMA_DEVICE_PLUGIN_IMAGE,
        "security_context": {"privileged": True},
        # a CPU asked for on every node is one that no job can have of them all
        "resources": {"requests": {"cpu": "0", "memory": "32Mi"}, "limits": {"memory": "128Mi"}},
        "volume_mounts": [
            {"name": "config", "mount_path": _CONFIG},
            {"name": "devices", "mount_path": "/dev"},
            *mounts,
        ],
    }


def _efa_values() -> dict[str, object]:
    repository, _, tag = EFA_DEVICE_PLUGIN_IMAGE.rpartition(":")
    return {
        "image": {"repository": repository, "tag": tag},
        "nodeSelector": {RDMA_LABEL: "efa"},
        "tolerations": [{"operator": "Exists"}],
        "resources": {"requests": {"cpu": 0, "memory": "20Mi"}},
    }
