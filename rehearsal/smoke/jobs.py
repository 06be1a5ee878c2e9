"""The smoke set: the jobs that tell of an environment whether it does what a fleet must do.

Each is a file in workloads/smoke, written for the machines and the queues of an environment: pools,
queues, sharing and hardware say which kinds it can have, in which namespace and of which size. A
pod has the largest shape that the kubelet of an empty machine admits, up to a whole machine, and
all jobs together leave room for one another.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from ignition.shapes.node import ContainerRequest
from rehearsal.smoke.places import MEMBERS, NoPlaceError, Place, Places
from settings import Settings
from settings.names import GPU, POOL_LABEL, RDMA_RESOURCE

FILES = Path(__file__).resolve().parents[2] / "workloads" / "smoke"
ONE_GPU, OWNED, RENTED, SLICE, REFUSED, SPANS = KINDS = (
    "one GPU",
    "gang on owned machines",
    "gang that rents",
    "slice",
    "refused",
    "gang that spans",
)
RUNS_FOR = "fleet.gpu/runs-for"
"""The annotation of a pod with the time for which it runs in a twin (rehearsal/stages.yaml)."""
RUN_S = 2
SLICE_CPUS, SLICE_GIB = 2, 8
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
    rents_of: str = ""
    """The rented pool that it may have machines of besides."""

    @property
    def pools(self) -> tuple[str, ...]:
        """The pools whose machines it may be on."""
        return (self.pool, self.rents_of) if self.rents_of else (self.pool,)

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

    @property
    def template(self) -> dict[str, Any]:
        """The template of its pods."""
        spec = self.manifest["spec"]
        found: dict[str, Any] = (
            spec["tasks"][0]["template"] if "tasks" in spec else spec["template"]
        )
        return found


@dataclass(frozen=True, kw_only=True)
class SmokeSet:
    """The jobs of an environment, and why it has none of the other kinds.

    `jobs` have room at the same time; `spans` needs all owned machines of its pool, after them.
    """

    jobs: tuple[SmokeJob, ...]
    left_out: Mapping[str, str]
    spans: SmokeJob | None = None

    @property
    def all(self) -> tuple[SmokeJob, ...]:
        """All jobs, in the order in which they are created."""
        return (*self.jobs, self.spans) if self.spans else self.jobs


def smoke_jobs(settings: Settings, *, runs_for: str = f"{RUN_S}s") -> list[SmokeJob]:
    """Return the jobs of an environment that have room at the same time.

    Their pods run for `runs_for`, such as 24h, in a twin.
    """
    return list(smoke_set(settings, runs_for=runs_for).jobs)


def smoke_set(
    settings: Settings,
    *,
    machines: Mapping[str, int] | None = None,
    runs_for: str = f"{RUN_S}s",
) -> SmokeSet:
    """Return the jobs of an environment, and the kinds that it cannot have with the reason.

    `machines` says how many of each pool can take work; without it they are those of the settings.
    """
    places = Places(settings=settings, machines=machines)
    jobs: list[SmokeJob] = []
    left_out: dict[str, str] = {}
    for kind, make in _MAKERS.items():
        try:
            jobs += make(places)
        except NoPlaceError as error:
            left_out[kind] = str(error)
    for job in jobs:
        job.template["metadata"].setdefault("annotations", {})[RUNS_FOR] = runs_for
    at_once = tuple(job for job in jobs if job.kind != SPANS)
    spans = next((job for job in jobs if job.kind == SPANS), None)
    return SmokeSet(jobs=at_once, left_out=left_out, spans=spans)


def _one_gpu(places: Places) -> Iterator[SmokeJob]:
    place = places.owned()
    yield _job(ONE_GPU, "one-gpu", place, _wanted(place.request(1)))


def _owned(places: Places) -> Iterator[SmokeJob]:
    place = places.owned(gang=True)
    yield _gang(OWNED, "gang-owned", place, place.pod_of_a_gang(place.gpus - SPARE_GPUS))


def _rented(places: Places) -> Iterator[SmokeJob]:
    place = places.rented()
    yield _gang(RENTED, "gang-rented", place, place.pod_of_a_gang(place.gpus))


def _slices(places: Places) -> Iterator[SmokeJob]:
    """Yield a job for each way of sharing that an owned pool has."""
    for mode, place in places.shared().items():
        layout = place.pool.sharing.mig_layout if place.pool.sharing else None
        profile = min(layout or ("",)).replace("+", ".")  # the device plugin writes 1g.18gb.me
        resource = f"nvidia.com/mig-{profile}" if layout else GPU
        wanted = {"cpu": str(SLICE_CPUS), "memory": f"{SLICE_GIB}Gi", resource: "1"}
        yield _job(SLICE, "slice", place, wanted, name=f"smoke-slice-{mode}")


def _refused(places: Places) -> Iterator[SmokeJob]:
    place = places.owned()
    yield _job(REFUSED, "refused", place, _wanted(place.refused_pod()))


def _spans(places: Places) -> Iterator[SmokeJob]:
    """Yield a gang where a queue has `pools`; other environments do without this kind."""
    span = places.spans()
    if span is None:
        return
    members, request = span.gang()
    job = _job(SPANS, "gang-spans", span.owned, _wanted(request))
    del job.template["spec"]["nodeSelector"]  # a webhook gives its pods those of the queue
    spec = job.manifest["spec"]
    spec["queue"] = span.owned.queue
    spec["minAvailable"] = spec["tasks"][0]["replicas"] = members
    yield replace(job, gpus=members * request.gpus, rents_of=span.rented.pool.name)


_MAKERS: Mapping[str, Callable[[Places], Iterator[SmokeJob]]] = {
    ONE_GPU: _one_gpu,
    OWNED: _owned,
    RENTED: _rented,
    SLICE: _slices,
    REFUSED: _refused,
    SPANS: _spans,
}


def _wanted(request: ContainerRequest) -> dict[str, str]:
    """Return the resources of a container."""
    cpus, memory = int(request.cpus), request.memory_mib
    return {"cpu": str(cpus), "memory": f"{memory}Mi", GPU: str(request.gpus)}


def _gang(kind: str, file: str, place: Place, request: ContainerRequest) -> SmokeJob:
    """Return a gang of such pods, with the devices of their pool's network."""
    wanted, fabric = _wanted(request), place.pool.fabric
    if fabric and not fabric.on_host:
        part = fabric.per_machine * request.gpus // place.pool.hardware.gpu_count
        wanted[fabric.resource] = "1" if fabric.resource == RDMA_RESOURCE else str(part)
    job = _job(kind, file, place, wanted)
    job.manifest["spec"]["queue"] = place.queue
    if place.machines < MEMBERS:  # the pods share a machine
        job.template["spec"].pop("affinity", None)
    return job


def _job(
    kind: str, file: str, place: Place, wanted: Mapping[str, str], *, name: str = ""
) -> SmokeJob:
    """Return the job of a file, in a queue of a pool, with pods of one size."""
    manifest: dict[str, Any] = yaml.safe_load((FILES / f"{file}.yaml").read_text(encoding="utf-8"))
    manifest["metadata"]["namespace"] = place.queue or "default"
    if name:
        manifest["metadata"]["name"] = name
    job = SmokeJob(kind=kind, manifest=manifest, pool=place.pool.name, queue=place.queue, gpus=0)
    job.template["metadata"]["labels"] |= place.labels
    job.template["spec"]["nodeSelector"] = {POOL_LABEL: place.pool.name}
    resources = {"requests": dict(wanted), "limits": dict(wanted)}
    job.template["spec"]["containers"][0]["resources"] = resources
    return replace(job, gpus=job.members * int(wanted.get(GPU, "1")))
