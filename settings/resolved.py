"""A pool with its hardware, NUMA plan and sharing, resolved once at the end of parsing."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hardware.catalogue import Hardware
from ignition.plan.numa_plan import NumaPlan, plan
from settings.fabric import Fabric, fabric_of
from settings.gpu_sharing import GpuSharing, sharing_labels
from settings.karpenter import DEFAULT_OVERHEAD, launchable_memory_mib, memory_overhead
from settings.names import NUMA_NODES_LABEL, NVSWITCH_LABEL, RDMA_LABEL, labels
from settings.pools import AwsPoolSettings, BareMetalPoolSettings, HetznerPoolSettings, PoolSettings


@dataclass(frozen=True, kw_only=True)
class ResolvedPool:
    """A pool as the stack file declares it, its hardware, and the NUMA plan of its machines."""

    name: str
    """Its id: the name that it was born with (`settings.ids`)."""
    title: str
    """Its name in the stack file."""
    declared: PoolSettings
    hardware: Hardware
    plan: NumaPlan
    sharing: GpuSharing | None
    """The sharing of its GPUs; None where the hardware has no GPU."""
    fabric: Fabric | None = None
    """The network between its GPUs; None where gangs talk TCP."""
    memory_overhead: float = DEFAULT_OVERHEAD
    """Karpenter's vmMemoryOverheadPercent, which all rented pools of an environment share."""

    @property
    def site(self) -> str:
        """The name of the site where its machines are."""
        return self.declared.site

    @property
    def rented(self) -> bool:
        """True where Karpenter rents the machines by the hour."""
        return isinstance(self.declared, AwsPoolSettings)

    @property
    def launchable_memory_mib(self) -> int | None:
        """The most memory of a pod for which Karpenter rents a machine; None for owned ones."""
        if not self.rented:
            return None
        return launchable_memory_mib(self.hardware, self.plan, self.memory_overhead)

    @property
    def gpus(self) -> int:
        """The most GPUs that the pool can have."""
        match self.declared:
            case AwsPoolSettings():
                return self.declared.gpu_limit
            case HetznerPoolSettings(nodes=nodes):
                return nodes * self.hardware.gpu_count
            case BareMetalPoolSettings(machines=machines):
                return len(machines) * self.hardware.gpu_count

    @property
    def usd_per_gpu_hour(self) -> float | None:
        """The price of a machine in USD per hour, divided by its GPUs.

        It is that of the most expensive capacity type where the pool has several, and None without
        GPUs or a known price.
        """
        declared, machine = self.declared, self.hardware
        capacities = tuple(declared.gpu_limits) if isinstance(declared, AwsPoolSettings) else ()
        known = [machine.usd_per_hour_as(each) for each in capacities] or [machine.usd_per_hour]
        usd = max((each for each in known if each is not None), default=None)
        return None if usd is None or not machine.gpu_count else round(usd / machine.gpu_count, 6)

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the pool's nodes and objects."""
        return labels(
            site=self.site,
            pool=self.name,
            hardware=self.hardware.name,
            purpose=self.plan.purpose,
            numa_plan=self.plan.digest,
        )

    @property
    def node_labels(self) -> dict[str, str]:
        """The labels that every node of the pool registers with."""
        shared = {} if self.sharing is None else sharing_labels(self.name, self.sharing)
        wired = {
            NUMA_NODES_LABEL: str(len(self.hardware.numa_nodes)),
            NVSWITCH_LABEL: str(self.hardware.nvswitch).lower(),
            RDMA_LABEL: "none" if self.fabric is None else self.fabric.kind,
        }
        return {**self.labels, **wired, **shared}


def resolve(
    name: str,
    pool: PoolSettings,
    hardware: Hardware,
    *,
    title: str | None = None,
    efa: bool = False,
) -> ResolvedPool:
    """Return the resolved pool; raises PlanError where the tuning does not fit the hardware.

    `name` is the id of the pool, `title` its name in the stack file where that is another one.
    `efa` says that the environment has the driver for the EFA interfaces of AWS.
    """
    sharing = None
    if not isinstance(pool, HetznerPoolSettings) and hardware.gpu_count:
        sharing = GpuSharing(mode=pool.sharing, mig_layout=pool.mig_layout, replicas=pool.replicas)
    return ResolvedPool(
        name=name,
        title=title or name,
        declared=pool,
        hardware=hardware,
        plan=plan(hardware, pool.tuning, pool.purpose),
        sharing=sharing,
        fabric=fabric_of(pool, hardware, efa=efa),
        memory_overhead=memory_overhead([hardware]),
    )


def with_one_overhead(pools: Mapping[str, ResolvedPool]) -> dict[str, ResolvedPool]:
    """Return the pools of an environment with the memory overhead that is safe for all of them."""
    overhead = memory_overhead(pool.hardware for pool in pools.values() if pool.rented)
    return {name: replace(pool, memory_overhead=overhead) for name, pool in pools.items()}
