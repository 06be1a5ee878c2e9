"""A pool of bare-metal machines that Metal3 installs from a Flatcar image."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.core.v1 import Namespace, Secret
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

from components.pools.boot import PoolBoot, TunnelEnd, user_data
from settings.names import METAL3_PREFIX
from settings.pools import BareMetalPoolSettings, MachineSettings

ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}


@dataclass(frozen=True, kw_only=True)
class BmcCredentials:
    """The login of all BMCs of a pool."""

    username: pulumi.Input[str] = field(repr=False)
    password: pulumi.Input[str] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class BareMetalPoolArgs:
    """`pool` is the pool as the stack file declares it.

    `tunnels` has each machine's end of the site's tunnel by its name; empty without a tunnel.
    """

    boot: PoolBoot
    pool: BareMetalPoolSettings
    bmc: BmcCredentials
    tunnels: Mapping[str, TunnelEnd]


class BareMetalPool(pulumi.ComponentResource):
    """A namespace with the hosts, their boot data and the BMC login; the cluster must have Metal3.

    Changed boot data waits in its Secret: Metal3 reinstalls a host only when its BareMetalHost is
    deleted and created again. People decide when, because jobs may run on the machine.
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
    host: MachineSettings,
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
