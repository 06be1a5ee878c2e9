"""A gang on several machines should ask for the RDMA devices of its pool.

Without one, NCCL finds the pod's network alone and every collective goes over TCP, through Cilium's
tunnel. It is a gang on several machines where it needs more GPUs than one has (see idle/gang-fits
for how they are counted); it is told where each pool that is open to it offers devices: that of its
node selector, else that of its queue, whose selector Volcano adds, else all of them. Devices
that need the host's network (RoCE) are offered to pods that have it, and to no others.
"""

from policies.language import cel
from policies.language.cel_forms import GPU_PODS, WITH_GPUS, Fault, of_pods
from policies.language.gangs import KINDS, VARIABLES, is_gang, least, queue_of
from policies.language.gpu_work import asks_for_gpus
from policies.language.manifest import at, mapping
from policies.language.pods import KINDS as OF_PODS
from policies.language.pods import Pod, pods
from policies.language.pool_table import (
    REACHES,
    SELECTED,
    cel_text,
    facts,
    no_pool_fits,
    open_to,
    pod_violations,
    reaches,
    selected,
    with_pools,
)
from policies.language.rule import Admission, Manifest, Rule, Settings
from settings.fabric import RDMA_GB_PER_S, TCP_GB_PER_S

ID = "numa/gang-network"
_ELSE = (
    f", else the gang talks TCP between machines: {TCP_GB_PER_S} GB/s of an all-reduce in place of "
    f"{RDMA_GB_PER_S} were measured on H100."
)
_ASK = "{rdma} on pool '{name}'"
_MUST = "must ask for"


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Return the pods of a gang that talk TCP where RDMA is offered."""
    wanted = least(manifest) if is_gang(manifest) else None
    if wanted is None:
        return []

    def fault(pod: Pod) -> str | None:
        if not asks_for_gpus(pod):
            return None
        pool_name = selected(pod) or _pool_of(queue_of(manifest), settings)
        found = [pool for pool in open_to(settings, pool_name) if pool["gpus"]]
        if any(
            not pool["rdma"] or not reaches(pod, pool) or wanted <= pool["gpus"] for pool in found
        ):
            return None
        told = no_pool_fits(found, lambda pool: _names(pod, pool["rdma"]), _ASK, _MUST)
        return told and told.removesuffix(".") + _ELSE

    return pod_violations(manifest, pods(manifest), fault)


def _pool_of(queue: str, settings: Settings) -> str:
    return next((q.get("pool", "") for q in facts(settings)["queues"] if q["name"] == queue), "")


def _names(pod: Pod, resource: str) -> bool:
    return any(
        resource in mapping(at(container, "resources", part))
        for container in pod.containers
        for part in ("limits", "requests")
    )


_TCP = f"e.rdma == '' || !{REACHES} || variables.wanted <= double(e.gpus)"
_NAMED = f"p.containers.exists(c, {cel.RESOURCES}.exists(r, e.rdma in r))"
_OF_PODS = of_pods(
    with_pools(GPU_PODS, "e.gpus > 0", f"({SELECTED} == '' ? variables.of_queue : {SELECTED})"),
    [
        Fault(
            broken=(
                f"size(p.pools) > 0 && !p.pools.exists(e, {_TCP}) && !p.pools.exists(e, {_NAMED})"
            ),
            says=(
                f"'{_MUST} ' + p.pools.map(e, {cel_text(_ASK)}).join(' or ') + {cel.literal(_ELSE)}"
            ),
        )
    ],
)

RULE = Rule(
    id=ID,
    sentence="A gang on several machines must ask for the RDMA devices of its pool.",
    why=(
        "The network cards between the machines stay idle, and each step of the training waits for "
        "an all-reduce that is a hundred times slower."
    ),
    source="https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html",
    level="advisory",
    predicate=violations,
    admission=Admission(
        # a PodGroup has no pods: those of its gang are judged with the job that makes it
        kinds=tuple(kind for kind in KINDS if kind in OF_PODS),
        shared={**WITH_GPUS, **VARIABLES},
        variables={
            "of_queue": "(variables.queues.filter(q, q.name == variables.queue)"
            ".map(q, q.?pool.orValue('')) + [''])[0]"
        },
        fault=_OF_PODS.fault,
    ),
)
