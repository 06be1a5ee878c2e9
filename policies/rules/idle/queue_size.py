"""An object must not ask for more GPUs at once than its queue has.

What it asks for beyond that never runs: the quota of the queue's namespace stops its pods, and what
the quota still lets in waits in Volcano. So a Deployment of 500 replicas, a Job with `parallelism:
5000` or a gang of 64 pods that starts with one is refused when it is written, where somebody reads
why. A gang that cannot even start is idle/gang-fits' to refuse.

The pods of an object are its replicas, its `parallelism` up to its `completions`, the groups of a
LeaderWorkerSet by their size, the jobs of a JobSet, or the workers that a RayCluster starts with.
Its queue is the one that it names, else that of its namespace; an object in a file without a
namespace is judged by the API server.

What an object may grow to is bounded by its queue, too: by a HorizontalPodAutoscaler or a
ScaledObject in the same input, by Ray's own autoscaler, or as an elastic PyTorchJob. The check and
the preview say so; at the API server that is for the quota to stop.
"""

from collections.abc import Sequence
from decimal import Decimal

from policies.language import cel
from policies.language.gangs import VARIABLES, is_gang, least, queue_of
from policies.language.growth import grown, target_of
from policies.language.manifest import describe
from policies.language.pool_table import facts
from policies.language.replicas import KINDS, gpus
from policies.language.rule import Admission, Manifest, Rule, Settings

ID = "idle/queue-size"
_MUST = (
    "must ask for at most the {most} GPUs of queue '{queue}'; all its pods together ask for "
    "{wanted}."
)
_GROWS = (
    "must{what} grow to at most the {most} GPUs of queue '{queue}'; at {field} all its pods "
    "together ask for {wanted}."
)


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Return what an object asks for beyond its queue."""
    queue = queue_of(manifest)
    bounds = {each["name"]: each["gpus"] for each in facts(settings)["queues"]}
    found = gpus(manifest) if queue in bounds else None
    if not found:
        return []
    most, starts = bounds[queue], least(manifest) if is_gang(manifest) else None
    wanted = sum((many * size for many, size in found), Decimal(0))
    if wanted <= most or (starts is not None and starts > most):
        return []
    said = _MUST.format(most=most, queue=queue, wanted=f"{wanted:f}")
    return [f"{describe(manifest)} {said}"]


def across(manifest: Manifest, settings: Settings, stack: Sequence[Manifest]) -> list[str]:
    """Return what an object may grow to beyond its queue, where it is within it today."""
    target = target_of(manifest, stack)
    found = None if target is None else grown(target, manifest)
    if target is None or found is None or violations(target, settings):
        return []
    larger, field = found
    bounds = {each["name"]: each["gpus"] for each in facts(settings)["queues"]}
    queue, sizes = queue_of(target), gpus(larger)
    wanted = sum((many * size for many, size in sizes or ()), Decimal(0))
    if queue not in bounds or wanted <= bounds[queue]:
        return []
    what = "" if target is manifest else f" let {describe(target)}"
    said = _GROWS.format(
        what=what, most=bounds[queue], queue=queue, field=field, wanted=f"{wanted:f}"
    )
    return [f"{describe(manifest)} {said}"]


RULE = Rule(
    id=ID,
    sentence="An object must not ask for more GPUs than its queue has.",
    why=(
        "Pods beyond the queue are never started: they wait, and each looks as if a machine were "
        "missing; on a rented pool the next one is paid for them."
    ),
    source="https://kubernetes.io/docs/concepts/policy/resource-quotas/",
    predicate=violations,
    across=across,
    admission=Admission(
        kinds=KINDS,
        shared=VARIABLES,
        variables={
            "gang": "object.apiVersion.startsWith('batch.volcano.sh/') || "
            "object.apiVersion.startsWith('kubeflow.org/') && object.kind != 'Notebook'",
            "all": "size(variables.made) == 0 ? 0.0 : variables.made.map(t, t.many * t.each).sum()",
            "bound": "variables.queues.filter(q, q.name == variables.queue)",
        },
        fault=(
            "size(variables.bound) == 0 || variables.all <= double(variables.bound[0].gpus) || "
            "(variables.gang && variables.wanted > double(variables.bound[0].gpus)) ? '' : ' ' + "
            + cel.text(
                _MUST,
                most="string(variables.bound[0].gpus)",
                queue="variables.queue",
                wanted="string(int(variables.all))",
            )
        ),
    ),
)
