"""From a pool of an environment to what its machines boot with."""

from components.pools.boot import ClusterJoin, PoolBoot
from ignition.write.render import tuning_ignition
from settings import ResolvedPool, Tunnel
from settings.node_boot import NodeVersions, node_boot


def pool_boot(
    join: ClusterJoin, node: NodeVersions, pool: ResolvedPool, tunnel: Tunnel | None = None
) -> PoolBoot:
    """Return a pool with the Ignition that its machines boot from."""
    boot = node_boot(pool, node, tunnel)
    return PoolBoot(
        cluster=join,
        pool=pool,
        flatcar=node.flatcar,
        ignition=tuning_ignition(boot),
        efa=boot.efa is not None,
    )
