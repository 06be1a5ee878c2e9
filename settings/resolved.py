"""A pool with everything that follows from it, made once at the end of parsing."""

from dataclasses import dataclass

from hardware.catalogue import Hardware
from ignition.plan.numa_plan import NumaPlan, plan
from settings.gpu_sharing import GpuSharing, sharing_labels
from settings.names import labels
from settings.pools import AwsPool, BareMetalPool, HetznerPool, Pool


@dataclass(frozen=True, kw_only=True)
class ResolvedPool:
    """A pool as the stack file declares it, its hardware, and the NUMA plan of its machines."""

    name: str
    declared: Pool
    hardware: Hardware
    plan: NumaPlan
    sharing: GpuSharing | None
    """How its GPUs are handed out; None where the hardware has no GPU."""

    @property
    def site(self) -> str:
        """The name of the site in which its machines are."""
        return self.declared.site

    @property
    def rented(self) -> bool:
        """Whether Karpenter rents its machines by the hour."""
        return isinstance(self.declared, AwsPool)

    @property
    def gpus(self) -> int:
        """The most GPUs that the pool can bring."""
        match self.declared:
            case AwsPool():
                return self.declared.gpu_limit
            case HetznerPool(nodes=nodes):
                return nodes * self.hardware.gpu_count
            case BareMetalPool(machines=machines):
                return len(machines) * self.hardware.gpu_count

    @property
    def usd_per_gpu_hour(self) -> float | None:
        """What an hour of one GPU costs in USD, with all that is in its machine.

        The dearest kind of capacity where the pool has several; None without GPUs or a known price.
        """
        declared, machine = self.declared, self.hardware
        capacities = tuple(declared.gpu_limits) if isinstance(declared, AwsPool) else ()
        known = [machine.usd_per_hour_as(each) for each in capacities] or [machine.usd_per_hour]
        usd = max((each for each in known if each is not None), default=None)
        return None if usd is None or not machine.gpu_count else round(usd / machine.gpu_count, 6)

    @property
    def labels(self) -> dict[str, str]:
        """The labels by which the pool's nodes and objects are found."""
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


def resolve(name: str, pool: Pool, hardware: Hardware) -> ResolvedPool:
    """Resolve a pool on its hardware; raises PlanError where the tuning does not fit that."""
    sharing = None
    if not isinstance(pool, HetznerPool) and hardware.gpu_count:
        sharing = GpuSharing(mode=pool.sharing, mig_layout=pool.mig_layout, replicas=pool.replicas)
    return ResolvedPool(
        name=name,
        declared=pool,
        hardware=hardware,
        plan=plan(hardware, pool.tuning, pool.purpose),
        sharing=sharing,
    )
