"""The smoke set: the jobs that tell of an environment whether it does what a fleet must do.

Each is a file in workloads/smoke, written for the machines and the queues of an environment: pools,
queues, sharing and hardware say which kinds it can have, in which namespace and of which size. A
pod has the largest shape that the kubelet of an empty machine admits, up to a whole machine, and
all jobs together leave room for one another.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ignition.shapes.admission import admit
from ignition.shapes.node import ContainerRequest
from ignition.shapes.node_of_plan import from_plan
from policies.facts import pool_facts
from settings import Settings
from settings.names import GPU, POOL_LABEL, RDMA_RESOURCE, owner_labels
from settings.resolved import ResolvedPool

FILES = Path(__file__).resolve().parents[2] / "workloads" / "smoke"
ONE_GPU, OWNED, RENTED, SLICE, REFUSED = KINDS = (
    "one GPU",
    "gang on owned machines",
    "gang that rents",
    "slice",
    "refused",
)
RUNS_FOR = "fleet.gpu/runs-for"
"""The annotation of a pod with the time for which it runs in a twin (rehearsal/stages.yaml)."""
SHORT = "2s"
CPUS_PER_GPU, GIB_PER_GPU = 8, 32
SLICE_CPUS, SLICE_GIB = 2, 8
MEMBERS = 2
SPARE_GPUS = 2
"""What a gang leaves of its pool and its queue: for the job of one GPU and the one refused."""


@dataclass(frozen=True, kw_only=True)
class SmokeJob:
    """A job of the smoke set, ready to be created.

    `pool` is the one whose machines it is meant for; `queue` is empty where Kubernetes' own
    scheduler places it. `gpus` are those of all its pods, slices counted as one each.
    """

    kind: str
    manifest: Mapping[str, Any] = field(repr=False)
    pool: str
    queue: str
    gpus: int

    @property
    def namespace(self) -> str:
        """The namespace that it runs in."""
        return str(self.manifest["metadata"]["namespace"])

    @property
    def name(self) -> str:
        """Its namespace and name."""
        return f"{self.namespace}/{self.manifest['metadata']['name']}"

    @property
    def collection(self) -> str:
        """The path of its collection at the API server."""
        return f"/apis/{self.manifest['apiVersion']}/namespaces/{self.namespace}/jobs"

    @property
    def path(self) -> str:
        """Its path at the API server."""
        return f"{self.collection}/{self.manifest['metadata']['name']}"

    @property
    def members(self) -> int:
        """The number of its pods."""
        return sum(task["replicas"] for task in self.manifest["spec"].get("tasks", ())) or 1


@dataclass(frozen=True, kw_only=True)
class SmokeSet:
    """The jobs of an environment, and why it has none of the other kinds."""

    jobs: tuple[SmokeJob, ...]
    left_out: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class _Place:
    """A pool and the queue whose jobs run on it, if there are teams."""

    pool: ResolvedPool
    queue: str = ""
    gpus: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)


def smoke_jobs(settings: Settings, *, runs_for: str = SHORT) -> list[SmokeJob]:
    """Return the jobs of an environment; their pods run for `runs_for`, such as 24h, in a twin."""
    return list(smoke_set(settings, runs_for=runs_for).jobs)


def smoke_set(settings: Settings, *, runs_for: str = SHORT) -> SmokeSet:
    """Return the jobs of an environment, and the kinds that it cannot have with the reason."""
    jobs: list[SmokeJob] = []
    left_out: dict[str, str] = {}
    for kind, make in _MAKERS.items():
        try:
            jobs += [_running(job, runs_for) for job in make(settings)]
        except _NoPlaceError as error:
            left_out[kind] = str(error)
    return SmokeSet(jobs=tuple(jobs), left_out=left_out)


class _NoPlaceError(Exception):
    """The reason for which an environment cannot have a kind of job."""


def _one_gpu(settings: Settings) -> Iterator[SmokeJob]:
    place = _whole(settings)
    wanted = _wants(place, settings, 1)
    yield _job(ONE_GPU, "one-gpu", place, wanted, gpus=1)


def _owned(settings: Settings) -> Iterator[SmokeJob]:
    place = _whole(settings, gang=True)
    machines = place.pool.gpus // place.pool.hardware.gpu_count
    room = min(place.pool.gpus, place.gpus) - SPARE_GPUS
    each = _gpus_of_a_pod(place, settings, room // MEMBERS, machines)
    yield _gang(OWNED, "gang-owned", place, settings, each=each, machines=machines)


def _rented(settings: Settings) -> Iterator[SmokeJob]:
    pools = [each for each in settings.pools.values() if each.rented and _mode(each) == "whole"]
    if not pools:
        raise _NoPlaceError("no pool rents machines with whole GPUs")
    place = _with_queue(settings, pools, gang=True)
    machines = place.pool.gpus // place.pool.hardware.gpu_count
    room = min(place.pool.gpus, place.gpus)
    each = _gpus_of_a_pod(place, settings, room // MEMBERS, machines)
    yield _gang(RENTED, "gang-rented", place, settings, each=each, machines=machines)


def _slices(settings: Settings) -> Iterator[SmokeJob]:
    """Yield a job for each way of sharing that an owned pool has."""
    shared = [each for each in _with_gpus(settings) if _mode(each) != "whole"]
    if not shared:
        raise _NoPlaceError("no owned pool shares its GPUs")
    first = {_mode(pool): pool for pool in reversed(shared)}
    for mode, pool in sorted(first.items()):
        place = _with_queue(settings, [pool], gang=False)
        layout = pool.sharing.mig_layout if pool.sharing else None
        profile = min(layout or ("",)).replace("+", ".")
        resource = f"nvidia.com/mig-{profile}" if layout else GPU
        wanted = {"cpu": str(SLICE_CPUS), "memory": f"{SLICE_GIB}Gi", resource: "1"}
        yield _job(SLICE, "slice", place, wanted, gpus=1, name=f"smoke-slice-{mode}")


def _refused(settings: Settings) -> Iterator[SmokeJob]:
    place = _whole(settings)
    request = _refused_shape(place, settings)
    wanted = _resources(request.gpus, int(request.cpus), request.memory_mib)
    yield _job(REFUSED, "refused", place, wanted, gpus=request.gpus)


_MAKERS = {
    ONE_GPU: _one_gpu,
    OWNED: _owned,
    RENTED: _rented,
    SLICE: _slices,
    REFUSED: _refused,
}


def _with_gpus(settings: Settings) -> list[ResolvedPool]:
    """The owned pools whose machines have GPUs."""
    return [each for each in settings.pools.values() if each.sharing and not each.rented]


def _mode(pool: ResolvedPool) -> str:
    return pool.sharing.mode if pool.sharing else ""


def _whole(settings: Settings, *, gang: bool = False) -> _Place:
    """Return where a job with whole GPUs of owned machines runs."""
    pools = [each for each in _with_gpus(settings) if _mode(each) == "whole"]
    if not pools:
        raise _NoPlaceError("no owned pool has whole GPUs")
    return _with_queue(settings, pools, gang=gang)


def _with_queue(settings: Settings, pools: list[ResolvedPool], *, gang: bool) -> _Place:
    """Return the pool whose queue has the most GPUs.

    A queue of a pool alone goes before one of all pools, in which there is no gang.
    """
    found = [each for pool in pools for each in _places(settings, pool)]
    fits = [each for each in found if each.gpus and (not gang or _of_its_own(settings, each))]
    if fits:
        return max(fits, key=lambda each: (_of_its_own(settings, each), each.gpus))
    names = " or ".join(repr(each.title) for each in pools)
    if gang or settings.teams:
        raise _NoPlaceError(f"no team has a queue on pool {names}")
    return _Place(pool=pools[0])


def _places(settings: Settings, pool: ResolvedPool) -> Iterator[_Place]:
    for team, owner in settings.teams.items():
        labels = owner_labels(team, owner.cost_centre)
        for name, queue in owner.queues.items():
            if queue.pool in (None, pool.name):
                yield _Place(pool=pool, queue=name, gpus=queue.gpus, labels=labels)


def _of_its_own(settings: Settings, place: _Place) -> bool:
    """Return whether the queue is one of this pool alone."""
    queues = (team.queues.get(place.queue) for team in settings.teams.values())
    return any(queue is not None and queue.pool is not None for queue in queues)


def _share(pool: ResolvedPool, settings: Settings) -> tuple[int, int]:
    """The CPUs, in whole cores, and the MiB of a pod for each of its GPUs."""
    facts = pool_facts(pool, settings.versions)
    cpus = min(CPUS_PER_GPU, facts.get("cpus_per_gpu", CPUS_PER_GPU))
    memory = min(GIB_PER_GPU * 1024, facts.get("memory_mib_per_gpu", GIB_PER_GPU * 1024))
    threads = _threads(pool)
    return max(threads, cpus - cpus % threads), memory


def _threads(pool: ResolvedPool) -> int:
    """The threads of a core."""
    return max(len(node.threads) for node in pool.hardware.numa_nodes)


def _gpus_of_a_pod(place: _Place, settings: Settings, most: int, machines: int) -> int:
    """Return the GPUs of each pod of a gang, by which its pods fit the pool's machines."""
    pool, whole = place.pool, place.pool.hardware.gpu_count
    cpus, memory = _share(pool, settings)
    node = from_plan(pool.hardware, pool.plan, pool.launchable_memory_mib)
    for gpus in (each for each in range(min(whole, most), 0, -1) if whole % each == 0):
        request = ContainerRequest(gpus=gpus, cpus=gpus * cpus, memory_mib=gpus * memory)
        if machines * (whole // gpus) >= MEMBERS and admit(node, [request]).admitted:
            return gpus
    raise _NoPlaceError(
        f"queue '{place.queue}' has {place.gpus} GPUs on pool '{pool.title}', too few for a gang "
        f"of {MEMBERS} beside the other jobs"
    )


def _refused_shape(place: _Place, settings: Settings) -> ContainerRequest:
    """Return what a scheduler gives a machine for, and the kubelet of the machine refuses.

    That is more than a NUMA node has, where one must have it all, and else half a core.
    """
    pool = place.pool
    cpus, memory = _share(pool, settings)
    node = from_plan(pool.hardware, pool.plan)
    bound = min(pool.hardware.gpu_count, place.gpus or pool.hardware.gpu_count)
    shapes = [
        ContainerRequest(gpus=gpus, cpus=gpus * cpus, memory_mib=gpus * memory)
        for gpus in range(1, bound + 1)
    ]
    for each in (*shapes, ContainerRequest(gpus=1, cpus=cpus - 1, memory_mib=memory)):
        if admit(node, [each]).reason in ("TopologyAffinityError", "SMTAlignmentError"):
            return each
    raise _NoPlaceError(f"the kubelets of pool '{pool.title}' refuse no shape")


def _wants(place: _Place, settings: Settings, gpus: int) -> dict[str, str]:
    cpus, memory = _share(place.pool, settings)
    return _resources(gpus, gpus * cpus, gpus * memory)


def _resources(gpus: int, cpus: int, memory_mib: int) -> dict[str, str]:
    return {"cpu": str(cpus), "memory": f"{memory_mib}Mi", GPU: str(gpus)}


def _gang(  # noqa: PLR0913  # what it is, where it is, how large it is
    kind: str, file: str, place: _Place, settings: Settings, *, each: int, machines: int
) -> SmokeJob:
    """Return a gang whose pods have `each` GPUs and the devices of their pool's network."""
    wanted, fabric = _wants(place, settings, each), place.pool.fabric
    if fabric and not fabric.on_host:
        part = fabric.per_machine * each // place.pool.hardware.gpu_count
        wanted[fabric.resource] = "1" if fabric.resource == RDMA_RESOURCE else str(part)
    job = _job(kind, file, place, wanted, gpus=each * MEMBERS)
    job.manifest["spec"]["queue"] = place.queue
    if machines < MEMBERS:  # two pods of one machine
        _template(job.manifest)["spec"].pop("affinity", None)
    return job


def _job(  # noqa: PLR0913  # what it is, where it is, how large it is
    kind: str,
    file: str,
    place: _Place,
    wanted: Mapping[str, str],
    *,
    gpus: int,
    name: str = "",
) -> SmokeJob:
    """Return the job of a file, in a queue of a pool, with pods of one size."""
    manifest: dict[str, Any] = yaml.safe_load((FILES / f"{file}.yaml").read_text(encoding="utf-8"))
    manifest["metadata"]["namespace"] = place.queue or "default"
    if name:
        manifest["metadata"]["name"] = name
    template = _template(manifest)
    template["metadata"]["labels"] |= place.labels
    template["spec"]["nodeSelector"] = {POOL_LABEL: place.pool.name}
    resources = {"requests": dict(wanted), "limits": dict(wanted)}
    template["spec"]["containers"][0]["resources"] = resources
    return SmokeJob(
        kind=kind, manifest=manifest, pool=place.pool.name, queue=place.queue, gpus=gpus
    )


def _running(job: SmokeJob, runs_for: str) -> SmokeJob:
    """Return the job with the time for which its pods run in a twin."""
    _template(job.manifest)["metadata"].setdefault("annotations", {})[RUNS_FOR] = runs_for
    return job


def _template(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The template of a job's pods."""
    spec = manifest["spec"]
    found: dict[str, Any] = spec["tasks"][0]["template"] if "tasks" in spec else spec["template"]
    return found
