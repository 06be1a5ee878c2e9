"""A pool of machines of ours, installed by Metal3 from a Flatcar image."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.core.v1 import Namespace, Secret
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

import settings
from components.pools.boot import PoolBoot, TunnelEnd, user_data
from settings.names import METAL3_PREFIX

ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}


@dataclass(frozen=True, kw_only=True)
class BmcCredentials:
    """The login that all BMCs of a pool share."""

    username: pulumi.Input[str] = field(repr=False)
    password: pulumi.Input[str] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class BareMetalPoolArgs:
    """`pool` is what the stack file declares of the boot's pool.

    `tunnels` has the end of the site's tunnel of each machine by its name; empty without a tunnel.
    """

    boot: PoolBoot
    pool: settings.BareMetalPool
    bmc: BmcCredentials
    tunnels: Mapping[str, TunnelEnd]


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
            metadata=ObjectMetaArgs(
                name=f"{METAL3_PREFIX}{args.boot.pool.name}", labels=args.boot.pool.labels
            ),
            opts=child,
        )
        credentials = Secret(
            f"{name}-bmc",
            metadata=self._metadata(args, space, "bmc"),
            string_data={"username": args.bmc.username, "password": args.bmc.password},
            opts=child,
        )
        self.node_names = [machine.name for machine in args.pool.machines]
        for host in args.pool.machines:
            boot_data = Secret(
                f"{name}-{host.name}-boot",
                metadata=self._metadata(args, space, f"{host.name}-boot"),
                string_data={
                    "userData": user_data(args.boot, host.name, tunnel=args.tunnels.get(host.name))
                },
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
        return ObjectMetaArgs(
            name=name, namespace=space.metadata.name, labels=args.boot.pool.labels
        )


def _host_spec(
    args: BareMetalPoolArgs,
    host: settings.Machine,
    space: Namespace,
    credentials: Secret,
    boot_data: Secret,
) -> dict[str, object]:
    return {
        "online": True,
        "architecture": ARCHITECTURES[args.boot.pool.hardware.arch],
        "bootMode": "UEFI",
        "bootMACAddress": host.boot_mac_address,
        "bmc": {
            "address": host.bmc_address,
            "credentialsName": credentials.metadata.name,
        },
        "image": {
            "url": args.pool.image.url,
            "checksum": args.pool.image.sha512,
            "checksumType": "sha512",
            "format": args.pool.image.format,
        },
        "userData": {"name": boot_data.metadata.name, "namespace": space.metadata.name},
    }
