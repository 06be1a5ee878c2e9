"""Where the jobs of the smoke set run, and the sizes that their pods can have there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ignition.shapes.admission import admit
from ignition.shapes.node import ContainerRequest
from ignition.shapes.node_of_plan import from_plan
from policies.facts import pool_facts
from settings import Settings
from settings.names import owner_labels
from settings.resolved import ResolvedPool

CPUS_PER_GPU, GIB_PER_GPU = 8, 32
MEMBERS = 2
"""The pods of a gang."""
REFUSALS = ("TopologyAffinityError", "SMTAlignmentError")


class NoPlaceError(Exception):
    """The reason for which an environment cannot have a kind of job."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """A pool, how many of its machines can take work, and the queue whose jobs run on them.

    `queue` is empty, and `labels` are none, where there are no teams. `alone` says that the queue
    is of this pool and of no other, `spans` that a gang of it may be on this pool and others.
    """

    settings: Settings
    pool: ResolvedPool
    machines: int
    queue: str = ""
    queue_gpus: int = 0
    alone: bool = False
    spans: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def gpus(self) -> int:
        """The GPUs that all jobs here can have at a time."""
        return min(self.machines * self.pool.hardware.gpu_count, self.queue_gpus)

    def request(self, gpus: int, cpus: int | None = None) -> ContainerRequest:
        """Return a pod with some GPUs and their share of a NUMA node, in whole cores."""
        facts = pool_facts(self.pool, self.settings.versions)
        most = GIB_PER_GPU * 1024
        threads = max(len(node.threads) for node in self.pool.hardware.numa_nodes)
        share = min(CPUS_PER_GPU, facts.get("cpus_per_gpu", CPUS_PER_GPU))
        each = max(threads, share - share % threads)
        memory = min(most, facts.get("memory_mib_per_gpu", most))
        return ContainerRequest(
            gpus=gpus, cpus=cpus or each * gpus, memory_mib=memory * max(gpus, 1)
        )

    def pod_of_a_gang(self, gpus: int) -> ContainerRequest:
        """Return the largest pod of which MEMBERS fit the machines and need `gpus` at most."""
        whole = self.pool.hardware.gpu_count
        node = from_plan(self.pool.hardware, self.pool.plan, self.pool.launchable_memory_mib)
        most = min(whole, gpus // MEMBERS)
        for each in (number for number in range(most, 0, -1) if whole % number == 0):
            fits = self.machines * (whole // each) >= MEMBERS
            if fits and admit(node, [self.request(each)]).admitted:
                return self.request(each)
        raise NoPlaceError(
            f"{self.gpus} GPUs are there for queue '{self.queue}' on pool '{self.pool.title}', too "
            f"few for a gang of {MEMBERS} beside the other jobs"
        )

    def refused_pod(self) -> ContainerRequest:
        """Return what a scheduler has room for, and the kubelet of an empty machine refuses.

        That is more than a NUMA node has where one must have it all, and else half a core.
        """
        node = from_plan(self.pool.hardware, self.pool.plan)
        most = min(self.pool.hardware.gpu_count, self.queue_gpus or self.pool.hardware.gpu_count)
        one = self.request(1)
        for each in (*map(self.request, range(1, most + 1)), self.request(1, int(one.cpus) - 1)):
            if admit(node, [each]).reason in REFUSALS:
                return each
        raise NoPlaceError(f"the kubelets of pool '{self.pool.title}' refuse no shape")


@dataclass(frozen=True, kw_only=True)
class Span:
    """An owned and a rented pool that one gang of a queue may run on."""

    owned: Place
    rented: Place

    def gang(self) -> tuple[int, ContainerRequest]:
        """Return how many pods are one more than the owned machines hold, and what each asks for.

        A pod takes all GPUs of a rented machine, in a shape that both kinds of machine admit.
        """
        gpus = self.rented.pool.hardware.gpu_count
        shapes = [place.request(gpus) for place in (self.owned, self.rented)]
        request = ContainerRequest(
            gpus=gpus,
            cpus=min(int(each.cpus) for each in shapes),
            memory_mib=min(each.memory_mib for each in shapes),
        )
        for place in (self.owned, self.rented):
            pool = place.pool
            node = from_plan(pool.hardware, pool.plan, pool.launchable_memory_mib)
            if not admit(node, [request]).admitted:
                raise NoPlaceError(f"pool '{pool.title}' admits no pod of {gpus} GPUs")
        owned = self.owned.machines * (self.owned.pool.hardware.gpu_count // gpus)
        if (owned + 1) * gpus > self.owned.queue_gpus:
            raise NoPlaceError(
                f"queue '{self.owned.queue}' has {self.owned.queue_gpus} GPUs, too few for the "
                f"{self.owned.machines} machines of pool '{self.owned.pool.title}' and one more"
            )
        return owned + 1, request


@dataclass(frozen=True, kw_only=True)
class Places:
    """The pools and queues of an environment; `machines` are those that can take work, by pool."""

    settings: Settings
    machines: Mapping[str, int] | None = None

    def owned(self, *, gang: bool = False) -> Place:
        """Return where a job with whole GPUs of owned machines runs."""
        pools = [each for each in self._with_gpus(rented=False) if _mode(each) == "whole"]
        if not pools:
            raise NoPlaceError("no owned pool has whole GPUs")
        return self._with_queue(pools, gang=gang)

    def rented(self) -> Place:
        """Return where a gang runs on machines that Karpenter rents."""
        pools = [each for each in self._with_gpus(rented=True) if _mode(each) == "whole"]
        if not pools:
            raise NoPlaceError("no pool rents machines with whole GPUs")
        return self._with_queue(pools, gang=True)

    def spans(self) -> Span | None:
        """Return where a gang runs on owned and rented machines; None where no queue has `pools`.

        Where several could, it is the queue with the most GPUs.
        """
        named = self._spanning(tuple(self.settings.pools.values()))
        if not named:
            return None
        pools = [each for rents in (False, True) for each in self._with_gpus(rented=rents)]
        places = [
            place
            for pool in pools
            if _mode(pool) == "whole" and self._machines(pool)
            for place in self._places(pool)
            if place.spans
        ]
        found = [
            Span(owned=owned, rented=rented)
            for owned in places
            for rented in places
            if owned.queue == rented.queue and rented.pool.rented and not owned.pool.rented
        ]
        if not found:
            raise NoPlaceError(f"no machines, owned and rented, for a gang of queue {named}")
        return max(found, key=lambda each: each.owned.queue_gpus)

    def shared(self) -> dict[str, Place]:
        """Return where a pod gets a part of a GPU, by the way of sharing: a pool for each.

        A pool that is rented has whole GPUs alone: the settings refuse `sharing` of it.
        """
        pools = [each for each in self._with_gpus(rented=False) if _mode(each) != "whole"]
        if not pools:
            raise NoPlaceError("no owned pool shares its GPUs")
        first = {_mode(pool): pool for pool in reversed(pools)}
        return {mode: self._with_queue([first[mode]], gang=False) for mode in sorted(first)}

    def _with_gpus(self, *, rented: bool) -> list[ResolvedPool]:
        pools = self.settings.pools.values()
        return [each for each in pools if each.sharing and each.rented == rented]

    def _with_queue(self, pools: Sequence[ResolvedPool], *, gang: bool) -> Place:
        """Return the pool whose queue has the most GPUs.

        A queue of one pool goes before one of all pools, in which there is no gang.
        """
        names = " or ".join(f"'{each.title}'" for each in pools)
        up = [each for each in pools if self._machines(each)]
        if not up:
            raise NoPlaceError(f"no machine of pool {names} can take work")
        found = [place for pool in up for place in self._places(pool)]
        fits = [each for each in found if each.gpus and (each.alone or not gang)]
        if fits:
            return max(fits, key=lambda each: (each.alone, each.queue_gpus))
        if gang and (spans := self._spanning(pools)):
            raise NoPlaceError(f"queue {spans} has `pools`, so that its gang spans them")
        if gang or self.settings.teams:
            raise NoPlaceError(f"no team has a queue on pool {names}")
        return Place(settings=self.settings, pool=up[0], machines=self._machines(up[0]))

    def _places(self, pool: ResolvedPool) -> Iterator[Place]:
        for team, owner in self.settings.teams.items():
            labels = owner_labels(team, owner.cost_centre)
            for name, queue in owner.queues.items():
                if pool.name in queue.pools or (
                    not queue.pools and queue.pool in (None, pool.name)
                ):
                    yield Place(
                        settings=self.settings,
                        pool=pool,
                        machines=self._machines(pool),
                        queue=name,
                        queue_gpus=queue.gpus,
                        alone=queue.pool is not None,
                        spans=bool(queue.pools),
                        labels=labels,
                    )

    def _spanning(self, pools: Sequence[ResolvedPool]) -> str:
        """Return the names of the queues whose gangs may span one of the pools."""
        found = (
            f"'{name}'"
            for owner in self.settings.teams.values()
            for name, queue in owner.queues.items()
            if {pool.name for pool in pools}.intersection(queue.pools)
        )
        return " and ".join(sorted(found))

    def _machines(self, pool: ResolvedPool) -> int:
        of_settings = pool.gpus // pool.hardware.gpu_count
        return of_settings if self.machines is None else self.machines.get(pool.name, 0)


def _mode(pool: ResolvedPool) -> str:
    return pool.sharing.mode if pool.sharing else ""
