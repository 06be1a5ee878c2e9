"""A small valid configuration, and functions that change it."""

import base64
import copy
from collections.abc import Mapping
from typing import cast

from ignition.write.wireguard import WireGuardKey
from ignition.write.wireguard_keys import public_key

DIGEST = "sha256:" + "ab" * 32
CHECKSUM = f"#sha512-{'ab' * 64}"
FABRIC_MANAGER = f"https://images.fleet.example/nvidia-fabricmanager-570.195.03.raw{CHECKSUM}"

CONFIG: Mapping[str, object] = {
    "cluster": {
        "name": "fleet-dev",
        "endpoint": "api.dev.fleet.example:6443",
        "ca_cert_hash": DIGEST,
        "pod_cidr": "10.14.0.0/16",
        "service_cidr": "10.15.0.0/16",
    },
    "sites": {
        "fra": {"kind": "on-prem", "cidr": "10.10.0.0/16"},
        "us-east-1": {"kind": "aws", "region": "us-east-1", "cidr": "10.11.0.0/16"},
        "hel1": {"kind": "hetzner", "location": "hel1", "cidr": "10.12.0.0/16"},
    },
    "pools": {
        "dgx": {
            "kind": "bare-metal",
            "site": "fra",
            "hardware": "dgx-h200",
            "purpose": "training",
            "image": {"url": "https://images.fleet.example/4593.2.5.img", "sha512": "cd" * 64},
            "machines": [
                {
                    "name": "dgx-01",
                    "bmc_address": "redfish-virtualmedia+https://10.10.250.11/redfish/v1/Systems/1",
                    "boot_mac_address": "94:6d:ae:01:00:01",
                    "system_drive_serial": "EXAMPLE-DGX-01",
                },
                {
                    "name": "dgx-02",
                    "bmc_address": "redfish-virtualmedia+https://10.10.250.12/redfish/v1/Systems/1",
                    "boot_mac_address": "94:6d:ae:01:00:02",
                    "system_drive_serial": "EXAMPLE-DGX-02",
                },
            ],
        },
        "burst": {
            "kind": "aws",
            "site": "us-east-1",
            "hardware": "p5e.48xlarge",
            "purpose": "training",
            "gpu_limits": {"reserved": 8, "spot": 8},
            "consolidate_after_minutes": 10,
        },
        "cpu": {
            "kind": "hetzner",
            "site": "hel1",
            "hardware": "ccx33",
            "purpose": "batch",
            "nodes": 3,
        },
    },
    "teams": {
        "research": {"cost_centre": "4100", "queues": {"research": {"weight": 4, "gpus": 32}}}
    },
    "monitoring": {"pager": "pagerduty"},
    "lakefs": {
        "endpoint": "https://lakefs.dev.fleet.example",
        "site": "us-east-1",
        "repositories": ["ticks", "backtests"],
    },
    "versions": {"fabric_manager": FABRIC_MANAGER},
    "reboots": {"days": ["sa", "su"], "start": "02:00", "end": "05:00"},
    "budget": {"usd_per_day": 3000},
    "policies": {"idle/gpu-node-pool": {"max_consolidate_after_minutes": 15}},
}
# keys as `openssl rand -base64 32` prints them; they open nothing
TUNNEL_KEYS = {
    name: base64.b64encode(name.encode().ljust(32, b".")).decode()
    for name in ("dgx-01", "dgx-02", "fleet-dev-fra-gateway")
}
TUNNEL: Mapping[str, object] = {
    "endpoint": "gateway.dev.fleet.example:51820",
    "public_key": public_key(WireGuardKey(private_key=TUNNEL_KEYS["fleet-dev-fra-gateway"])),
    "network": "10.13.0.0/24",
    "networks": ["10.12.0.0/16"],
}
GATEWAY: Mapping[str, object] = {"site": "hel1", "hardware": "ccx33"}


def config() -> dict[str, object]:
    """Return a valid configuration that a test may change."""
    return copy.deepcopy(dict(CONFIG))


def with_tunnel(gateway: Mapping[str, object] | None = None) -> dict[str, object]:
    """Return a valid configuration with a tunnel; `gateway` None is someone else's gateway."""
    changed = with_value("sites.fra.tunnel", copy.deepcopy(dict(TUNNEL)))
    for position in (0, 1):
        parent, key = _parent(changed, f"pools.dgx.machines.{position}.tunnel_address")
        parent[key] = f"10.13.0.{11 + position}"
    if gateway is not None:
        parent, key = _parent(changed, "sites.fra.tunnel.gateway")
        parent[key] = dict(gateway)
    return changed


def with_value(path: str, value: object) -> dict[str, object]:
    """Return a valid configuration but for the value at a dotted path; numbers index lists."""
    changed = config()
    parent, key = _parent(changed, path)
    parent[key] = value
    return changed


def without(path: str) -> dict[str, object]:
    """Return a valid configuration without the key at a dotted path."""
    changed = config()
    parent, key = _parent(changed, path)
    del parent[key]
    return changed


def _parent(root: object, path: str) -> tuple[dict[str | int, object], str | int]:
    *steps, last = path.split("/") if "/" in path else path.split(".")
    for step in steps:
        root = cast("dict[str | int, object]", root)[int(step) if step.isdigit() else step]
    return cast("dict[str | int, object]", root), int(last) if last.isdigit() else last


EFA = f"https://images.fleet.example/sysext/efa-4593.2.5.raw{CHECKSUM}"


def with_efa() -> dict[str, object]:
    """Return a valid configuration whose rented machines speak EFA."""
    changed = with_value("versions.efa", EFA)
    for path, value in (
        ("pools.burst.zone", "us-east-1b"),
        ("sites.us-east-1.vpc", "vpc-0a1b2c3d"),
    ):
        parent, key = _parent(changed, path)
        parent[key] = value
    return changed
