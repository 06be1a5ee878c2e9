"""Machines of the other roles, with secrets that open nothing."""

import base64

from hardware.catalogue import Arch
from ignition.write.control_plane import (
    PKI,
    ControlPlaneBoot,
    ControlPlaneSecrets,
    control_plane_butane,
    control_plane_ignition,
)
from ignition.write.gateway import GatewayBoot, LocksmithWindow, gateway_butane, gateway_ignition
from ignition.write.wireguard import Peer, WireGuard, WireGuardKey
from tests.support.ignition.nodes import TOKEN

DATA_VOLUME = "/dev/disk/by-id/scsi-0HC_Volume_101"
ENDPOINT = "api.fleet.example:6443"
PRIVATE_KEY = base64.b64encode(b"private key of nobody, 32 bytes.").decode()
SECRETS = (TOKEN, PRIVATE_KEY, *(f"PEM of {name}" for name in PKI if name.endswith(".key")))


def public_key(name: str) -> str:
    """A key that looks like one of `wg pubkey`."""
    return base64.b64encode(name.encode().ljust(32, b".")).decode()


def wireguard() -> WireGuard:
    """A site that calls one other site and is called by a second one."""
    return WireGuard(
        address="10.99.0.1/24",
        peers=(
            Peer(
                public_key=public_key("fra"),
                allowed_ips=("10.99.0.2/32", "10.10.0.0/16"),
                endpoint="fra.fleet.example:51820",
            ),
            Peer(public_key=public_key("aws"), allowed_ips=("10.20.0.0/16",)),
        ),
    )


def gateway(*snippets: str) -> GatewayBoot:
    """The gateway of a site."""
    return GatewayBoot(
        wireguard=wireguard(),
        reboot_window=LocksmithWindow(start="Thu 04:00", length="1h"),
        snippets=snippets,
    )


def server(
    *, first: bool = True, etcd: str | None = DATA_VOLUME, arch: Arch = "amd64"
) -> ControlPlaneBoot:
    """A server of the control plane at Hetzner."""
    return ControlPlaneBoot(
        endpoint=ENDPOINT,
        kubernetes_version="1.36.3",
        arch=arch,
        first=first,
        etcd_device=etcd,
        external_cloud_provider=True,
    )


def secrets() -> ControlPlaneSecrets:
    """The secret part of a server."""
    return ControlPlaneSecrets(
        cluster="fleet-test",
        endpoint=ENDPOINT,
        pod_cidr="10.244.0.0/16",
        service_cidr="10.96.0.0/16",
        kubernetes_version="1.36.3",
        hostname="fleet-test-control-1",
        ca_cert_hash=f"sha256:{'0' * 64}",
        token=TOKEN,
        pki={name: f"PEM of {name}\n" for name in PKI},
    )


def key() -> WireGuardKey:
    """A key of a gateway."""
    return WireGuardKey(private_key=PRIVATE_KEY)


def rendered() -> dict[str, tuple[str, str]]:
    """The plain part of every form of the roles: Butane and Ignition by name."""
    servers = {
        f"control-plane{number}{'-disk' if disk else ''}-{arch}": server(
            first=number == 1, etcd=disk, arch=arch
        )
        for number in (1, 2)
        for disk in (None, DATA_VOLUME)
        for arch in ("amd64", "arm64")
    }
    made = {
        name: (control_plane_butane(s), control_plane_ignition(s)) for name, s in servers.items()
    }
    return {**made, "gateway": (gateway_butane(gateway()), gateway_ignition(gateway()))}
