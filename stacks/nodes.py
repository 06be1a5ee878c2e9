"""From a pool of an environment to what its machines boot with."""

from dataclasses import replace

from components.pools.boot import (
    ClusterJoin,
    NodeVersions,
    PoolBoot,
    node_boot,
    node_labels,
)
from hardware.catalogue import load
from ignition.plan.numa_plan import plan
from ignition.write.render import NodeBoot, tuning_ignition
from ignition.write.wireguard import Peer, WireGuard
from settings import HetznerPool, Pool, Settings, Tunnel, Versions, versions
from settings.gpu_sharing import GpuSharing


def node_versions(chosen: Versions) -> NodeVersions:
    """What the environment chose, else what settings/versions.py pins."""

    def pick(choice: str | None, pinned: str) -> str:
        return pinned if choice is None else choice

    return NodeVersions(
        flatcar=pick(chosen.flatcar, versions.FLATCAR),
        kubernetes=pick(chosen.kubernetes, versions.KUBERNETES),
        nvidia_driver=pick(chosen.nvidia_driver, versions.NVIDIA_DRIVER),
        nvidia_runtime=versions.NVIDIA_RUNTIME,
        fabric_manager=chosen.fabric_manager,
        efa=chosen.efa,
    )


def boot_of(node: NodeVersions, name: str, pool: Pool, tunnel: Tunnel | None = None) -> NodeBoot:
    """Hardware and tuning make the plan, and the plan what the pool's machines boot from.

    `tunnel` is that of the pool's site.
    """
    hardware = load(pool.hardware)
    numa = plan(hardware, pool.tuning, pool.purpose)
    labelled = node_labels(pool.site, name, numa, sharing(pool))
    boot = node_boot(hardware, numa, labelled, node, snippets=pool.snippets)
    return boot if tunnel is None else replace(boot, wireguard=_wireguard(tunnel))


def pool_boot(
    join: ClusterJoin, node: NodeVersions, name: str, pool: Pool, tunnel: Tunnel | None = None
) -> PoolBoot:
    """A pool with the Ignition that its machines boot from."""
    boot = boot_of(node, name, pool, tunnel)
    return PoolBoot(
        cluster=join,
        site=pool.site,
        pool=name,
        hardware=boot.hardware,
        plan=boot.plan,
        tuning=pool.tuning,
        flatcar=node.flatcar,
        ignition=tuning_ignition(boot),
        sharing=sharing(pool),
        efa=boot.efa is not None,
    )


def _wireguard(tunnel: Tunnel) -> WireGuard:
    """What all machines of a hall know of their tunnel: the gateway and what is behind it."""
    gateway = Peer(
        public_key=tunnel.public_key,
        allowed_ips=(tunnel.network, *tunnel.networks),
        endpoint=tunnel.endpoint,
    )
    return WireGuard(address=None, peers=(gateway,))


def sharing(pool: Pool) -> GpuSharing | None:
    """How a pool shares its GPUs; None where it has none."""
    if isinstance(pool, HetznerPool) or not load(pool.hardware).gpu_count:
        return None
    return GpuSharing(mode=pool.sharing, mig_layout=pool.mig_layout, replicas=pool.replicas)


def system_pools(settings: Settings) -> list[str]:
    """The pools without GPUs, on which the fleet's own services run."""
    return [name for name, pool in settings.pools.items() if not load(pool.hardware).gpu_count]
