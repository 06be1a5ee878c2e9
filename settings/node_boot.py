"""The boot data of a pool's machines: plan, labels, taints and versions."""

from dataclasses import dataclass

from ignition.write.render import NodeBoot, Taint
from ignition.write.wireguard import Peer, WireGuard
from settings import drivers, versions
from settings.names import GPU
from settings.pools import BareMetalPoolSettings
from settings.resolved import ResolvedPool
from settings.types import Tunnel, Versions

GPU_TAINT = Taint(key=GPU, value="present", effect="NoSchedule")
# Karpenter manages a node only if it registers with this taint, which user data has to set
UNREGISTERED_TAINT = Taint(key="karpenter.sh/unregistered", value="", effect="NoExecute")


@dataclass(frozen=True, kw_only=True)
class NodeVersions:
    """The releases on a node. `nvidia_driver` is branch and kind of the driver, e.g. 570-open."""

    flatcar: str
    kubernetes: str
    nvidia_driver: str
    nvidia_runtime: str
    fabric_manager: str | None
    efa: str | None = None
    driver_extension: str | None = None


def node_versions(chosen: Versions) -> NodeVersions:
    """Return the environment's versions; settings/versions.py has those that it does not name."""

    def pick(choice: str | None, pinned: str) -> str:
        return pinned if choice is None else choice

    return NodeVersions(
        flatcar=pick(chosen.flatcar, versions.FLATCAR),
        kubernetes=pick(chosen.kubernetes, versions.KUBERNETES),
        nvidia_driver=drivers.driver(chosen),
        nvidia_runtime=versions.NVIDIA_RUNTIME,
        fabric_manager=chosen.fabric_manager,
        efa=chosen.efa,
        driver_extension=chosen.nvidia_driver_extension,
    )


def node_boot(pool: ResolvedPool, node: NodeVersions, tunnel: Tunnel | None = None) -> NodeBoot:
    """Return the boot data of the pool's machines; `tunnel` is the one of the pool's site.

    System extensions for GPUs come only with GPUs, and Fabric Manager only with NVSwitches.
    """
    hardware = pool.hardware
    gpu = hardware.gpu_count > 0
    taints: tuple[Taint, ...] = (GPU_TAINT,) if gpu else ()
    if pool.rented:
        taints += (UNREGISTERED_TAINT,)
    return NodeBoot(
        hardware=hardware,
        plan=pool.plan,
        labels=pool.node_labels,
        taints=taints,
        kubernetes_version=node.kubernetes,
        nvidia_driver=node.nvidia_driver if gpu else None,
        nvidia_runtime=node.nvidia_runtime if gpu else None,
        fabric_manager=node.fabric_manager if hardware.nvswitch else None,
        flatcar=node.flatcar,
        efa=node.efa if hardware.efa_interfaces else None,
        driver_extension=node.driver_extension if gpu else None,
        fabric=pool.declared.fabric if isinstance(pool.declared, BareMetalPoolSettings) else None,
        snippets=pool.declared.snippets,
        wireguard=None if tunnel is None else _wireguard(tunnel),
    )


def _wireguard(tunnel: Tunnel) -> WireGuard:
    """Return the WireGuard settings that all machines of a site share: the gateway as peer."""
    gateway = Peer(
        public_key=tunnel.public_key,
        allowed_ips=(tunnel.network, *tunnel.networks),
        endpoint=tunnel.endpoint,
    )
    return WireGuard(address=None, peers=(gateway,))
