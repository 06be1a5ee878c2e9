"""A job in a queue's namespace must be in that queue.

The namespace has the queue's quota, its pool and its people; a job that names another queue takes
that one's share with this one's quota. At the API server the policy `fleet-queues` holds jobs of
Volcano and PodGroups to it in each stage, also when they are changed; a training job of Kubeflow
is judged there by the PodGroup that is made of it. An object in a file without a namespace is
judged by the API server.
"""

from policies.language import cel
from policies.language.gangs import is_gang, queue_of
from policies.language.manifest import at, describe
from policies.language.pool_table import facts
from policies.language.rule import Manifest, Rule, Settings

_MUST = "must be in queue '{own}', that of its namespace; it names '{named}'."


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Return the queue that a job takes part in beside that of its namespace."""
    own = at(manifest, "metadata", "namespace")
    if not is_gang(manifest) or own is None:
        return []
    queue = queue_of(manifest)
    if queue == own or all(each["name"] != own for each in facts(settings)["queues"]):
        return []
    return [f"{describe(manifest)} {_MUST.format(own=own, named=queue)}"]


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
