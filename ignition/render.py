"""From a plan to the boot data: Butane source from a template, then Ignition 3.4 JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from hardware.hardware import Hardware
from ignition.numa_plan import NumaPlan


@dataclass(frozen=True, kw_only=True)
class Taint:
    """A taint that the kubelet registers its node with; an empty value is no value."""

    key: str
    value: str
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


@dataclass(frozen=True, kw_only=True)
class NodeBoot:
    """What the boot data of a node is made from.

    `nvidia_driver` is the suffix of Flatcar's own extension. `fabric_manager` is the https URL of a
    system extension with NVIDIA Fabric Manager of exactly the driver's version: Flatcar ships none,
    and without one CUDA fails to initialise (error 802) on a machine with NVSwitch.
    """

    hardware: Hardware
    plan: NumaPlan
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    kubernetes_version: str
    nvidia_driver: str | None
    nvidia_runtime: str | None
    fabric_manager: str | None = None
    snippets: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Join:
    """What a node needs to join; the token is secret. `hostname` None keeps the machine's own."""

    api_server_endpoint: str
    token: str = field(repr=False)
    ca_cert_hash: str
    hostname: str | None


def tuning_butane(node: NodeBoot) -> str:
    """The Butane source (flatcar 1.1.0) of the plain part."""
    raise NotImplementedError


def tuning_ignition(node: NodeBoot) -> str:
    """The plain part as Ignition 3.4.0 JSON: no secret, the same text for the same input."""
    raise NotImplementedError


def join_ignition(join: Join) -> str:
    """The secret part: /etc/kubernetes/join.yaml, and /etc/hostname where one is given."""
    raise NotImplementedError


def with_merge(tuning: str, source: str, sha512: str | None = None) -> str:
    """The user data: the plain part plus an ignition.config.merge of `source`."""
    raise NotImplementedError


def data_url(text: str) -> str:
    """The text as a base64 `data:` URL, for `with_merge`."""
    raise NotImplementedError
