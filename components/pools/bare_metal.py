"""A pool of machines of ours, installed by Metal3 from a Flatcar image."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.core.v1 import Namespace, Secret
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

from components.pools.boot import PoolBoot, PoolError, TunnelEnd, user_data

ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}


@dataclass(frozen=True, kw_only=True)
class Host:
    """A machine by its BMC (a Metal3 address) and the network card that it boots from.

    `tunnel` is its end of the tunnel that its pool's boot has, where it has one.
    """

    name: str
    bmc_address: str
    boot_mac_address: str
    tunnel: TunnelEnd | None = None


@dataclass(frozen=True, kw_only=True)
class Image:
    """The disk image: its address, its SHA-512 in hexadecimal and its format (qcow2 or raw)."""

    url: str
    sha512: str
    format: str


@dataclass(frozen=True, kw_only=True)
class BmcCredentials:
    """The login that all BMCs of a pool share."""

    username: pulumi.Input[str] = field(repr=False)
    password: pulumi.Input[str] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class BareMetalPoolArgs:
    """`hosts` of the boot's hardware. The image must be of Flatcar release `flatcar`."""

    boot: PoolBoot
    hosts: Sequence[Host]
    image: Image
    bmc: BmcCredentials
    flatcar: str

    def __post_init__(self) -> None:
        if not self.hosts:
            raise PoolError(f"pool {self.boot.pool} has no host; allowed: one or more.")
        if self.flatcar not in self.image.url:
            raise PoolError(
                f"pool {self.boot.pool}: image.url is {self.image.url}; allowed: an address that "
                f"names Flatcar {self.flatcar}, the release of this environment."
            )


class BareMetalPool(pulumi.ComponentResource):
    """A namespace with the hosts, their boot data and the BMCs' login; Metal3 is a prerequisite.

    Changed boot data waits in its Secret: Metal3 installs a host again only when its BareMetalHost
    is deleted and made anew, and when to do that to a machine with jobs on it is for people to say.
    """

    node_names: list[str]

    def __init__(
        self, name: str, args: BareMetalPoolArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:pools:BareMetalPool", name, args.boot.inputs, opts)
        child = pulumi.ResourceOptions(parent=self)
        space = Namespace(
            f"{name}-namespace",
            metadata=ObjectMetaArgs(name=f"metal3-{args.boot.pool}", labels=args.boot.labels),
            opts=child,
        )
        credentials = Secret(
            f"{name}-bmc",
            metadata=self._metadata(args, space, "bmc"),
            string_data={"username": args.bmc.username, "password": args.bmc.password},
            opts=child,
        )
        self.node_names = [host.name for host in args.hosts]
        for host in args.hosts:
            boot_data = Secret(
                f"{name}-{host.name}-boot",
                metadata=self._metadata(args, space, f"{host.name}-boot"),
                string_data={"userData": user_data(args.boot, host.name, tunnel=host.tunnel)},
                opts=child,
            )
            CustomResource(
                f"{name}-{host.name}",
                api_version="metal3.io/v1alpha1",
                kind="BareMetalHost",
                metadata=self._metadata(args, space, host.name),
                spec=_host_spec(args, host, space, credentials, boot_data),
                opts=child,
            )
        self.register_outputs({"nodeNames": self.node_names})

    @staticmethod
    def _metadata(args: BareMetalPoolArgs, space: Namespace, name: str) -> ObjectMetaArgs:
        return ObjectMetaArgs(name=name, namespace=space.metadata.name, labels=args.boot.labels)


def _host_spec(
    args: BareMetalPoolArgs, host: Host, space: Namespace, credentials: Secret, boot_data: Secret
) -> dict[str, object]:
    return {
        "online": True,
        "architecture": ARCHITECTURES[args.boot.hardware.arch],
        "bootMode": "UEFI",
        "bootMACAddress": host.boot_mac_address,
        "bmc": {
            "address": host.bmc_address,
            "credentialsName": credentials.metadata.name,
        },
        "image": {
            "url": args.image.url,
            "checksum": args.image.sha512,
            "checksumType": "sha512",
            "format": args.image.format,
        },
        "userData": {"name": boot_data.metadata.name, "namespace": space.metadata.name},
    }
