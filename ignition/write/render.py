"""From a plan to the boot data: Butane source from a role's template, then Ignition 3.4 JSON.

The boot data has two parts. The tuning part is plain, so that a preview can show and rules can read
every line of it. The join part holds the token and comes by `ignition.config.merge`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from hardware.catalogue import Hardware
from hardware.flatcar.own_driver import own_driver
from ignition.plan.numa_plan import NumaPlan
from ignition.write import documents
from ignition.write.documents import RenderError, file, hostname_file, to_json
from ignition.write.extensions import (
    driver_problem,
    efa_problem,
    fabric_manager_problem,
    image,
    kubernetes,
    nvidia_runtime,
)
from ignition.write.payload import Merge, data_url, merged
from ignition.write.plan_json import expectations
from ignition.write.wireguard import WireGuard, WireGuardKey, address_file

__all__ = [
    "JOIN_FILE",
    "PATCHES",
    "Join",
    "NodeBoot",
    "RenderError",
    "Taint",
    "data_url",
    "join_ignition",
    "kubelet_patch",
    "tuning_butane",
    "tuning_ignition",
    "with_merge",
]
_LABEL = re.compile(
    r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", re.ASCII
)
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?", re.ASCII)
PATCHES = "/etc/kubernetes/patches"
JOIN_FILE = "/etc/kubernetes/join.yaml"


@dataclass(frozen=True, kw_only=True)
class Taint:
    """A taint that the kubelet registers its node with; an empty value is no value."""

    key: str
    value: str
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


@dataclass(frozen=True, kw_only=True)
class NodeBoot:
    """The inputs of a node's boot data.

    `nvidia_driver` is the suffix of Flatcar's own extension ("570-open") and `nvidia_runtime` the
    version of the bakery's ("v1.18.1"); machines without GPUs have neither. `fabric_manager` is the
    https URL of a system extension called nvidia-fabricmanager with exactly the driver's version:
    Flatcar ships none, and without it CUDA fails to initialise (error 802) behind NVSwitch.
    `flatcar` is the OS release, by which that version is known. `efa` is the URL of a system
    extension with the EFA driver for that release; without it multi-node traffic goes over TCP.
    `driver_extension` is the URL of a system extension with the driver, where Flatcar has none of
    that branch.
    `fabric` is the network of the rails of an owned machine, through which pods speak RDMA.
    `wireguard` is for nodes of a site without a gateway. `snippets` are Butane documents that are
    merged last.
    """

    hardware: Hardware
    plan: NumaPlan
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    kubernetes_version: str
    nvidia_driver: str | None
    nvidia_runtime: str | None
    fabric_manager: str | None = None
    flatcar: str | None = None
    efa: str | None = None
    driver_extension: str | None = None
    fabric: Literal["infiniband", "roce"] | None = None
    wireguard: WireGuard | None = None
    snippets: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Join:
    """Inputs of the join part; token and key are secret. `hostname` None keeps the machine's own.

    `wireguard_address` is of a machine whose plain part has none. The node has it in the cluster
    too: the address of its site, which the kubelet would take, is one that no other site reaches.
    """

    api_server_endpoint: str
    token: str = field(repr=False)
    ca_cert_hash: str
    hostname: str | None
    wireguard_key: WireGuardKey | None = None
    wireguard_address: str | None = None


def tuning_butane(node: NodeBoot) -> str:
    """The plain part as Butane (flatcar 1.1.0); RenderError where it cannot be written."""
    gpu = bool(node.hardware.gpus)
    values: dict[str, object] = {
        "plan": node.plan,
        "kind": node.hardware.kind,
        "labels": _labels(node.labels),
        "kubelet_patch": to_json(kubelet_patch(node)),
        "expectations": to_json(
            expectations(node.hardware, node.plan, nvidia_driver=_expected_driver(node))
        ),
        "kubernetes": kubernetes(node.kubernetes_version, node.hardware.arch),
        "scratch": bool(node.hardware.nvme),
        "wireguard": node.wireguard,
        "fabric": node.fabric,
        "rails": node.hardware.rails,
        "frozen": gpu and bool(node.fabric_manager or node.efa or node.driver_extension),
    }
    if gpu:
        values |= _gpu_extensions(node)
    return documents.butane("gpu_node" if gpu else "cpu_node", values)


def _expected_driver(node: NodeBoot) -> str | None:
    """The driver as the check on the node expects it; one's own in its very version."""
    own = own_driver(node.driver_extension or "")
    return f"{own.version}-open" if own else node.nvidia_driver


def _gpu_extensions(node: NodeBoot) -> dict[str, object]:
    if node.nvidia_driver is None or node.nvidia_runtime is None:
        raise RenderError(
            f"{node.hardware.name} has GPUs and needs both nvidia_driver and nvidia_runtime"
        )
    if node.driver_extension and (problem := driver_problem(node.driver_extension, node.flatcar)):
        raise RenderError(f"{node.hardware.name}: {problem}")
    own = own_driver(node.driver_extension or "")
    if problem := fabric_manager_problem(
        node.fabric_manager,
        nvswitch=node.hardware.nvswitch,
        driver=node.nvidia_driver,
        flatcar=node.flatcar,
        own=own,
    ):
        raise RenderError(f"{node.hardware.name}: {problem}")
    efa = node.efa if node.hardware.efa_interfaces else None
    if efa and (problem := efa_problem(efa, node.flatcar)):
        raise RenderError(f"{node.hardware.name}: {problem}")
    return {
        "nvidia_driver": node.nvidia_driver,
        "own_driver": (
            image(own.extension, node.driver_extension) if own and node.driver_extension else None
        ),
        "nvidia_runtime": nvidia_runtime(node.nvidia_runtime, node.hardware.arch),
        "fabric_manager": (
            image("nvidia-fabricmanager", node.fabric_manager) if node.fabric_manager else None
        ),
        "efa": image("efa", efa) if efa else None,
    }


def tuning_ignition(node: NodeBoot) -> str:
    """The plain part as Ignition 3.4.0 JSON: no secret, the same text for the same input."""
    return documents.ignition(tuning_butane(node), node.snippets)


def kubelet_patch(node: NodeBoot) -> dict[str, object]:
    """The merge patch of KubeletConfiguration: the plan's fields, and the taints of the node."""
    taints = [
        {
            "key": taint.key,
            **({"value": taint.value} if taint.value else {}),
            "effect": taint.effect,
        }
        for taint in node.taints
    ]
    return {**node.plan.kubelet, **({"registerWithTaints": taints} if taints else {})}


def join_ignition(join: Join) -> str:
    """The secret part: kubeadm's JoinConfiguration, and /etc/hostname where one is given."""
    registration: dict[str, object] = {"criSocket": "unix:///run/containerd/containerd.sock"}
    if join.hostname is not None:
        registration["name"] = join.hostname
    if join.wireguard_address is not None:
        address = join.wireguard_address.partition("/")[0]
        registration["kubeletExtraArgs"] = [{"name": "node-ip", "value": address}]
    configuration = {
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "JoinConfiguration",
        "discovery": {
            "bootstrapToken": {
                "apiServerEndpoint": join.api_server_endpoint,
                "token": join.token,
                "caCertHashes": [join.ca_cert_hash],
            }
        },
        "nodeRegistration": registration,
        "patches": {"directory": PATCHES},
    }
    files = [file(JOIN_FILE, to_json(configuration), mode=0o600)]
    if join.hostname is not None:
        files.append(hostname_file(join.hostname))
    if join.wireguard_key is not None:
        files.append(join.wireguard_key.file())
    if join.wireguard_address is not None:
        files.append(address_file(join.wireguard_address))
    return documents.secret_ignition(files)


def with_merge(tuning: str, source: str, sha512: str | None = None) -> str:
    """The user data: the plain part plus an ignition.config.merge of `source`.

    `source` is a `data:` URL or an address that the machine can read, `sha512` the 128 hexadecimal
    digits that its contents must have.
    """
    return merged(tuning, (Merge(source=source, sha512=sha512),))


def _labels(labels: Mapping[str, str]) -> str:
    for key, value in labels.items():
        if not _LABEL.fullmatch(key) or not _LABEL_VALUE.fullmatch(value):
            raise RenderError(
                f'label "{key}={value}" is malformed: a name and a value have letters, digits, '
                "'-', '_' and '.', at most 63, and begin and end with a letter or digit"
            )
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
