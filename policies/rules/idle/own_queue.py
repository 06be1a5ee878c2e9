"""A job in a queue's namespace must be in that queue.

The namespace has the queue's quota, its pool and its people; a job that names another queue takes
that one's share with this one's quota. A RayCluster or RayJob names one by the label
`volcano.sh/queue-name`, and any pod by the annotation `scheduling.volcano.sh/queue-name`: KubeRay
and Volcano write it into the PodGroup that they make.

At the API server the policy `fleet-queues` holds jobs of Volcano and PodGroups to it in each stage,
also when they are changed; what operators make PodGroups of is judged there by these. An object in
a file without a namespace is judged by the API server.
"""

from collections.abc import Iterator

from policies.language import cel
from policies.language.gangs import is_gang, queue_of
from policies.language.manifest import at, describe
from policies.language.pod_kinds import group_kind
from policies.language.pods import pods, subject
from policies.language.pool_table import facts
from policies.language.rule import Manifest, Rule, Settings

_LABEL, _ANNOTATION = "volcano.sh/queue-name", "scheduling.volcano.sh/queue-name"
# KubeRay v1.7.0, ray-operator/controllers/ray/batchscheduler/volcano/volcano_scheduler.go
_BY_LABEL = (("ray.io", "RayCluster"), ("ray.io", "RayJob"))
_MUST = "must be in queue '{own}', that of its namespace; it names '{named}'."


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Return the queues that a job takes part in beside that of its namespace."""
    own = at(manifest, "metadata", "namespace")
    if own is None or all(each["name"] != own for each in facts(settings)["queues"]):
        return []
    return [
        f"{thing} {_MUST.format(own=own, named=queue)}"
        for thing, queue in _named(manifest)
        if queue not in (None, "", "default", own)
    ]


def _named(manifest: Manifest) -> Iterator[tuple[str, object]]:
    """Yield what an object names queues for, each with the queue."""
    if is_gang(manifest):
        yield describe(manifest), queue_of(manifest)
        return
    if group_kind(manifest) in _BY_LABEL:
        yield describe(manifest), at(manifest, "metadata", "labels", _LABEL)
    for pod in pods(manifest):
        yield subject(manifest, pod), pod.annotations.get(_ANNOTATION)


def cel_says(own: str, named: str) -> str:
    """CEL: the same of an object in the namespace `own` that names the queue `named`."""
    return f"{cel.DESCRIBED} + ' ' + {cel.text(_MUST, own=own, named=named)}"


RULE = Rule(
    id="idle/own-queue",
    sentence="A job in a queue's namespace must be in that queue.",
    why=(
        "A job that names another team's queue starts on that team's share, and no quota of theirs "
        "counts it."
    ),
    source="https://volcano.sh/en/docs/queue/",
    predicate=violations,
)
