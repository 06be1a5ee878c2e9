"""The facts of an environment that rules read: its pools and queues, in one form for all gates.

The preview and `fleet check` read these dicts (the key `facts` beside the rules' own settings), and
the API server reads the same data as CEL, see `policies.gates.admission`. `policies.facts` makes
them from an environment's pools. Without facts there is nothing to hold a pod to.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NotRequired, TypedDict

from policies.language.pod_kinds import PLACE, PodKind

KEY = "facts"
"""The key of the facts among the settings of rules."""


class Shape(TypedDict):
    """The largest pod that a pool admits, on a NUMA node or on the whole machine."""

    gpus: int
    cpus: int
    cpus_in_multiples_of: int
    """The threads of a core where whole cores are given out, else 1."""
    memory_mib: int
    """Without what is reserved for huge pages."""
    hugepages_1gi_mib: int
    hugepages_2mi_mib: int


class Pool(TypedDict):
    """One machine of a pool, and what the pool makes of it. Optional keys are not known or not so.

    `shapes` is empty where the pool hands out no whole GPUs.
    """

    name: str
    purpose: Literal["training", "inference", "batch", "realtime"]
    gpus: int
    exclusive: bool
    """The workload CPUs are out of the kernel's load balancing."""
    shares_gpus: bool
    """It hands out parts of GPUs."""
    spot: bool
    """Some of its machines are spot capacity."""
    rdma: str
    """The extended resource by which its pods get RDMA devices, empty where it has none."""
    rdma_on_host: bool
    """The devices work only in pods that have their host's network, as RoCE does."""
    hugepages_1gi_mib: int
    hugepages_2mi_mib: int
    shapes: Sequence[Shape]
    mig_profiles: Sequence[str]
    cpus_per_gpu: NotRequired[int]
    memory_mib_per_gpu: NotRequired[int]
    """With `cpus_per_gpu`: what pods may have of a NUMA node, divided by its GPUs."""
    gpu_memory_mib: NotRequired[int]
    """Memory of what it hands out as one GPU."""
    architecture: NotRequired[str]
    """The architecture of its GPUs, such as sm_90."""
    runs: NotRequired[Sequence[str]]
    """With `architecture`: all architectures whose code its GPUs run."""
    driver: NotRequired[int]
    """The branch of its GPUs' driver, such as 570."""
    newest_cuda: NotRequired[int]
    """With `driver`: the newest CUDA major that runs with it."""
    reserved_until: NotRequired[str]
    """The last day of its reserved capacity, such as 2027-01-31."""


class Queue(TypedDict):
    """A queue of Volcano's and the most GPUs that its jobs get."""

    name: str
    gpus: int
    pool: NotRequired[str]
    """The pool whose selector Volcano gives its jobs."""
    weight: NotRequired[int]
    team: NotRequired[str]
    """The team that it belongs to, and pays for its pods."""
    priorities: NotRequired[Sequence[str]]
    """The priority classes that its pods may name."""
    reclaimable: NotRequired[bool]
    """Others take back what it has beyond its share; so they do where this is not said."""


class MakesPods(TypedDict):
    """A kind of the environment's own that makes pods, as `policies.language.pod_kinds` lists them.

    `templates` are the places of its pods' templates, such as `spec.roles[].template`.
    """

    group: str
    resource: str
    kind: str
    templates: Sequence[str]
    service: NotRequired[bool]
    """It is not meant to end."""


class Facts(TypedDict):
    """All that rules know of an environment."""

    pools: Sequence[Pool]
    queues: Sequence[Queue]
    kinds: NotRequired[Sequence[MakesPods]]
    controllers: NotRequired[Sequence[str]]
    """Users whose word on who owns an object is believed, beside those that everyone has."""
    balancers_filter: NotRequired[bool]
    """Its load balancers hold Services to their source ranges, as Hetzner's do not."""


NONE: Facts = {
    "pools": [],
    "queues": [],
    "kinds": [],
    "controllers": [],
    "balancers_filter": True,
}

_COUNT = {"type": "integer", "minimum": 0, "maximum": 1 << 53}
_FLAG = {"type": "boolean"}
_TEXT = {"type": "string", "minLength": 1}
_TEXTS = {"type": "array", "items": _TEXT}
_CODE = {"type": "string", "pattern": "^(sm|compute)_[0-9]+[af]?$"}


def _object(of: type, **properties: object) -> dict[str, object]:
    """The JSON Schema of a TypedDict, of which each key has a schema."""
    required: frozenset[str] = of.__required_keys__  # type: ignore[attr-defined]  # a TypedDict's
    assert set(properties) == set(of.__annotations__)  # noqa: S101  # else a key has no schema
    return {
        "type": "object",
        "additionalProperties": False,
        "required": sorted(required),
        "properties": properties,
    }


def _list(of: object) -> dict[str, object]:
    return {"type": "array", "items": of}


SCHEMA: Mapping[str, object] = {
    **_object(
        Facts,
        pools=_list(
            _object(
                Pool,
                name={"type": "string", "pattern": "^[a-z0-9-]+$"},
                purpose={"type": "string", "enum": ["training", "inference", "batch", "realtime"]},
                gpus=_COUNT,
                exclusive=_FLAG,
                shares_gpus=_FLAG,
                spot=_FLAG,
                rdma={"type": "string", "pattern": "^([a-z0-9./-]+)?$"},
                rdma_on_host=_FLAG,
                hugepages_1gi_mib=_COUNT,
                hugepages_2mi_mib=_COUNT,
                shapes=_list(_object(Shape, **dict.fromkeys(Shape.__annotations__, _COUNT))),
                mig_profiles=_TEXTS,
                cpus_per_gpu=_COUNT,
                memory_mib_per_gpu=_COUNT,
                gpu_memory_mib=_COUNT,
                architecture=_CODE,
                runs=_list(_CODE),
                driver=_COUNT,
                newest_cuda=_COUNT,
                reserved_until={"type": "string", "format": "date"},
            )
        ),
        queues=_list(
            _object(
                Queue,
                name={"type": "string", "pattern": "^[a-z0-9.-]+$"},
                gpus=_COUNT,
                pool={"type": "string", "pattern": "^[a-z0-9-]+$"},
                weight=_COUNT,
                team=_TEXT,
                priorities=_TEXTS,
                reclaimable=_FLAG,
            )
        ),
        kinds=_list(
            _object(
                MakesPods,
                group={
                    "type": "string",
                    "pattern": "^([a-z0-9-]+\\.)+[a-z0-9-]+$",
                    "title": "an API group",
                    "examples": ["jobs.example.com"],
                },
                resource={
                    "type": "string",
                    "pattern": "^[a-z][a-z0-9]*$",
                    "title": "the plural name of a kind",
                    "examples": ["trainings"],
                },
                kind={
                    "type": "string",
                    "pattern": "^[A-Z][A-Za-z0-9]*$",
                    "title": "the name of a kind",
                    "examples": ["Training"],
                },
                templates={
                    **_list(
                        {
                            "type": "string",
                            "pattern": PLACE,
                            "title": "the path of a pod's template, with [] behind a list",
                            "examples": ["spec.roles[].template"],
                        }
                    ),
                    "minItems": 1,
                },
                service=_FLAG,
            )
        ),
        controllers=_list(
            {
                "type": "string",
                "pattern": "^system:[a-z0-9:.-]+$",
                "title": "a user of the API server",
                "examples": ["system:serviceaccount:kubeflow:training-operator"],
            }
        ),
        balancers_filter=_FLAG,
    ),
    "required": [],
    "default": {},
    "description": (
        "What rules know of the environment: its pools and queues, the kinds of its own that make "
        "pods, the controllers that may say who owns a pod, and whether its load balancers hold "
        "Services to their source ranges."
    ),
}
"""The JSON Schema of Facts; a list that is left out is empty."""


def declared_kinds(facts: Facts) -> tuple[PodKind, ...]:
    """The kinds of an environment's own that make pods."""
    return tuple(
        PodKind(
            group=each["group"],
            resource=each["resource"],
            kind=each["kind"],
            templates=tuple(each["templates"]),
            service=each.get("service", False),
        )
        for each in facts.get("kinds", ())
    )
