"""A pool of bare-metal machines that Metal3 installs from a Flatcar image."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.core.v1 import Namespace, Secret
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

from components.pools.boot import PoolBoot, TunnelEnd, token_args, user_data
from kube.metal3 import DETACHED
from kube.resources.bootstrap_token import BootstrapToken
from kube.resources.host_detached import HostDetached, HostDetachedArgs
from kube.resources.node_drain import NodeDrain, NodeDrainArgs
from kube.resources.node_ready import NodeReady, NodeReadyArgs
from settings.fabric import RDMA_GB_PER_S, TCP_GB_PER_S
from settings.names import METAL3_PREFIX
from settings.pools import BareMetalPoolSettings, MachineSettings, SystemDrive

READY_TIMEOUT_S = 5400  # Ironic inspects, cleans and installs; a DGX tests its memory at each start
DRAIN_TIMEOUT_S = 86_400  # a job of a day ends by itself; who waits longer runs `up` again
DELETE_TIMEOUT = "3h"  # Ironic cleans a host before it forgets it
IMAGE = "spec.image"
"""Left to `fleet reinstall` once a host exists. The whole field is ignored and not its parts: for
parts the engine sends an empty image where a refresh found none (`PropertyPath.reset` of Pulumi
3.220), which the API server refuses."""
ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}
JOIN_HOURS = 24  # inspection and cleaning of a hall's machines at once can take most of a day


@dataclass(frozen=True, kw_only=True)
class BmcCredentials:
    """The login of all BMCs of a pool."""

    username: pulumi.Input[str] = field(repr=False)
    password: pulumi.Input[str] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class BareMetalPoolArgs:
    """`pool` is the pool as the stack file declares it.

    `tunnels` has each machine's end of the site's tunnel by its name; empty without a tunnel.
    `after` is what the nodes need to become Ready.
    """

    boot: PoolBoot
    pool: BareMetalPoolSettings
    bmc: BmcCredentials
    tunnels: Mapping[str, TunnelEnd]
    after: Sequence[pulumi.Resource] = ()


class BareMetalPool(pulumi.ComponentResource):
    """A namespace with the hosts, their boot data and the BMC login; the cluster must have Metal3.

    An update reinstalls no machine. Metal3 wipes a machine at once when the image of its host
    changes or its BareMetalHost is deleted, so only a new host gets its image from here, and the
    hosts are protected. Changed boot data waits in its Secret until `fleet reinstall` takes the
    machine. A machine that leaves is drained before anything else (docs/decisions/0015).
    """

    node_names: list[str]
    ready: list[pulumi.Resource]
    """What needs these machines depends on them: there once all nodes were Ready."""

    def __init__(
        self, name: str, args: BareMetalPoolArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:pools:BareMetalPool", name, args.boot.inputs, opts)
        if _talks_tcp(args):
            pulumi.log.warn(_slow_network(args), self)
        child = pulumi.ResourceOptions(parent=self)
        space = Namespace(
            f"{name}-namespace",
            metadata=ObjectMetaArgs(
                name=f"{METAL3_PREFIX}{args.boot.pool.name}", labels=args.boot.pool.labels
            ),
            opts=pulumi.ResourceOptions(parent=self, protect=True),
        )
        credentials = Secret(
            f"{name}-bmc",
            metadata=self._metadata(args, space, "bmc"),
            string_data={"username": args.bmc.username, "password": args.bmc.password},
            opts=child,
        )
        self.node_names = [machine.name for machine in args.pool.machines]
        hosts: list[pulumi.Resource] = []
        for host in args.pool.machines:
            boot_data = Secret(
                f"{name}-{host.name}-boot",
                metadata=self._metadata(args, space, f"{host.name}-boot"),
                string_data={
                    "userData": user_data(args.boot, host.name, tunnel=args.tunnels.get(host.name))
                },
                opts=child,
            )
            metadata = self._metadata(args, space, host.name)
            if host.leaving == "detach":
                metadata.annotations = {DETACHED: "leaving"}
            made = CustomResource(
                f"{name}-{host.name}",
                api_version="metal3.io/v1alpha1",
                kind="BareMetalHost",
                metadata=metadata,
                spec=_host_spec(args, host, space, credentials, boot_data),
                opts=self._options(name, args, host),
            )
            hosts += [made, self._token(name, args, host, made)]
            if host.leaving == "detach":
                self._wait_until_detached(name, args, host, made)
        waits = NodeReadyArgs(
            nodes=[machine.name for machine in args.pool.machines if machine.leaving is None],
            timeout_s=READY_TIMEOUT_S,
        )
        after_all = pulumi.ResourceOptions(parent=self, depends_on=hosts)
        self.ready = [NodeReady(f"{name}-ready", waits, after_all)]
        self.register_outputs({"nodeNames": self.node_names})

    def _token(
        self, name: str, args: BareMetalPoolArgs, host: MachineSettings, made: CustomResource
    ) -> BootstrapToken:
        return BootstrapToken(
            f"{name}-{host.name}-token",
            token_args(args.boot, host.name, _known(made, "uid"), JOIN_HOURS),
            pulumi.ResourceOptions(parent=self),
        )

    def _wait_until_detached(
        self, name: str, args: BareMetalPoolArgs, host: MachineSettings, made: CustomResource
    ) -> None:
        HostDetached(
            f"{name}-{host.name}-detached",
            HostDetachedArgs(
                namespace=f"{METAL3_PREFIX}{args.boot.pool.name}",
                host=_known(made, "name"),
                timeout_s=READY_TIMEOUT_S,  # Metal3 detaches no host that it is installing
            ),
            pulumi.ResourceOptions(
                parent=self,
                custom_timeouts=pulumi.CustomTimeouts(create=DELETE_TIMEOUT, delete=DELETE_TIMEOUT),
            ),
        )

    def _options(
        self, name: str, args: BareMetalPoolArgs, host: MachineSettings
    ) -> pulumi.ResourceOptions:
        """Return the options of a host: protected, or after its drain where it leaves."""
        if host.leaving is None:
            return pulumi.ResourceOptions(
                parent=self,
                protect=True,
                ignore_changes=[IMAGE],
                depends_on=list(args.after),
                custom_timeouts=pulumi.CustomTimeouts(delete=DELETE_TIMEOUT),
            )
        drain = NodeDrain(
            f"{name}-{host.name}-drain",
            NodeDrainArgs(
                node=host.name,
                namespace=f"{METAL3_PREFIX}{args.boot.pool.name}",
                detached=host.leaving == "detach",
                timeout_s=DRAIN_TIMEOUT_S,
            ),
            pulumi.ResourceOptions(
                parent=self, custom_timeouts=pulumi.CustomTimeouts(create="25h")
            ),
        )
        return pulumi.ResourceOptions(
            parent=self,
            protect=False,
            ignore_changes=[IMAGE],
            depends_on=[*args.after, drain],
            custom_timeouts=pulumi.CustomTimeouts(delete=DELETE_TIMEOUT),
        )

    @staticmethod
    def _metadata(args: BareMetalPoolArgs, space: Namespace, name: str) -> ObjectMetaArgs:
        return ObjectMetaArgs(
            name=name, namespace=space.metadata.name, labels=args.boot.pool.labels
        )


def _known(made: CustomResource, key: str) -> pulumi.Output[str]:
    """Return what the metadata of an object say; with another `uid` it is another machine.

    The first preview of all has no uid: the namespace is not there yet, so the provider asks
    nobody.
    """
    metadata: pulumi.Output[dict[str, str]] = pulumi.get(made, "metadata")
    return metadata.apply(lambda known: known.get(key, ""))


def _talks_tcp(args: BareMetalPoolArgs) -> bool:
    """Return whether gangs of several machines with RDMA cards would not use them."""
    pool = args.boot.pool
    several = pool.hardware.gpus and len(args.pool.machines) > 1
    unused = pool.fabric is None or pool.fabric.on_host
    return bool(several and pool.hardware.rails and unused)


def _slow_network(args: BareMetalPoolArgs) -> str:
    pool = args.boot.pool
    slow = f"{TCP_GB_PER_S} GB/s of an all-reduce in place of {RDMA_GB_PER_S} were measured on H100"
    if pool.fabric is not None:
        return (
            "RoCE needs the host's network, which the namespaces of queues refuse, so gangs in "
            f"queues talk TCP: {slow}; docs/network-between-gpus.md says how one runs outside them."
        )
    return (
        f"{pool.hardware.name} has {len(pool.hardware.rails)} RDMA cards for other machines and "
        f"the pool no fabric, so gangs talk TCP: {slow}; "
        f"gpu-fleet:pools.{pool.title}.fabric is infiniband or roce."
    )


def _host_spec(
    args: BareMetalPoolArgs,
    host: MachineSettings,
    space: Namespace,
    credentials: Secret,
    boot_data: Secret,
) -> dict[str, object]:
    hints = root_device_hints(args.pool.system_drive, host)
    return {
        "online": True,
        "architecture": ARCHITECTURES[args.boot.pool.hardware.arch],
        "bootMode": "UEFI",
        "bootMACAddress": host.boot_mac_address,
        "bmc": {
            "address": host.bmc_address,
            "credentialsName": credentials.metadata.name,
        },
        **({"rootDeviceHints": hints} if hints else {}),
        "image": {
            "url": args.pool.image.url,
            "checksum": args.pool.image.sha512,
            "checksumType": "sha512",
            "format": args.pool.image.format,
        },
        "userData": {"name": boot_data.metadata.name, "namespace": space.metadata.name},
    }


def root_device_hints(drive: SystemDrive, host: MachineSettings) -> dict[str, object]:
    """Return the `rootDeviceHints` of a host, all of which a drive must fit; empty for none."""
    own = {"serialNumber": host.system_drive_serial, "wwn": host.system_drive_wwn}
    hints = {**asdict(drive), **own}
    return {name: value for name, value in hints.items() if value is not None}
