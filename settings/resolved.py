"""A pool with its hardware, NUMA plan and sharing, resolved once at the end of parsing."""

from dataclasses import dataclass

from hardware.catalogue import Hardware
from ignition.plan.numa_plan import NumaPlan, plan
from settings.gpu_sharing import GpuSharing, sharing_labels
from settings.names import labels
from settings.pools import AwsPoolSettings, BareMetalPoolSettings, HetznerPoolSettings, PoolSettings


@dataclass(frozen=True, kw_only=True)
class ResolvedPool:
    """A pool as the stack file declares it, its hardware, and the NUMA plan of its machines."""

    name: str
    declared: PoolSettings
    hardware: Hardware
    plan: NumaPlan
    sharing: GpuSharing | None
    """The sharing of its GPUs; None where the hardware has no GPU."""

    @property
    def site(self) -> str:
        """The name of the site where its machines are."""
        return self.declared.site

    @property
    def rented(self) -> bool:
        """True where Karpenter rents the machines by the hour."""
        return isinstance(self.declared, AwsPoolSettings)

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
        return {**self.labels, **shared}


def resolve(name: str, pool: PoolSettings, hardware: Hardware) -> ResolvedPool:
    """Return the resolved pool; raises PlanError where the tuning does not fit the hardware."""
    sharing = None
    if not isinstance(pool, HetznerPoolSettings) and hardware.gpu_count:
        sharing = GpuSharing(mode=pool.sharing, mig_layout=pool.mig_layout, replicas=pool.replicas)
    return ResolvedPool(
        name=name,
        declared=pool,
        hardware=hardware,
        plan=plan(hardware, pool.tuning, pool.purpose),
        sharing=sharing,
    )
