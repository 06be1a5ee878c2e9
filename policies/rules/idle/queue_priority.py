"""A pod must have a priority class that its queue may use, and be preemptible in a reclaimable one.

Within a queue a job of a higher class takes the machines of jobs of lower ones, and the classes of
the system (`system-node-critical`) evict whatever is in their way, in every queue. So a queue's
pods name one of its `priorities`, or none; by default these are all classes of the fleet but
`production`. A job says it in its pods or for all of them (Volcano's and Kubeflow's jobs, Argo's
workflows, PodGroups).

A pod on GPUs with `volcano.sh/preemptable: "false"`, as annotation or label, keeps them whoever
they belong to: Volcano neither reclaims them for the queue whose share they are nor preempts the
pod for a higher class. So the pods and PodGroups of a queue that others reclaim from go without.

ResourceQuotas by class would say the same, but the API server holds them to a namespace without a
quota only with `limitedResources` in its own configuration, which a control plane that somebody
else runs does not let one set.
"""

from policies.language import cel
from policies.language.annotations import CLASSES_OF_JOB, classes_of_job
from policies.language.cel_forms import ASKS_FOR_GPUS, WITH_GPUS, Fault, of_pods, pods_or_object
from policies.language.gangs import QUEUE, queue_of
from policies.language.gpu_work import gpu_pods
from policies.language.manifest import describe
from policies.language.pods import KINDS, pods, subject
from policies.language.pool_table import facts
from policies.language.preemption import IS_KEPT, PREEMPTABLE, STAYS, is_kept, stays
from policies.language.rule import Manifest, Rule, Settings

ID = "idle/queue-priority"
_MUST = "must have a priority class of queue '{queue}' ({allowed}) or none; it has '{said}'."
_KEPT = f"must be preemptible in queue '{{queue}}': without {PREEMPTABLE} false."
_NONE = "must have no priority class in queue '{queue}'; it has '{said}'."


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Return the pods that go before others of their queue, which the settings do not allow."""
    queue = queue_of(manifest)
    known = {each["name"]: each for each in facts(settings)["queues"]}
    if queue not in known:
        return []
    allowed, reclaimable = known[queue].get("priorities"), known[queue].get("reclaimable", True)

    def fault(said: object) -> str | None:
        if allowed is None or said in (None, "", *allowed):
            return None
        template = _MUST if allowed else _NONE
        return template.format(queue=queue, allowed=", ".join(allowed), said=said)

    faults = [fault(each) for each in classes_of_job(manifest)]
    found = [(pod, fault(pod.spec.get("priorityClassName"))) for pod in pods(manifest)]
    of_object = [f"{describe(manifest)} {said}" for said in faults if said is not None]
    of_each = [f"{subject(manifest, pod)} {said}" for pod, said in found if said is not None]
    if reclaimable and manifest.get("kind") == "PodGroup" and is_kept(manifest):
        of_object.append(f"{describe(manifest)} {_KEPT.format(queue=queue)}")
    if reclaimable:
        kept = (pod for pod in gpu_pods(manifest) if stays(manifest, pod))
        of_each += [f"{subject(manifest, pod)} {_KEPT.format(queue=queue)}" for pod in kept]
    return of_object[:1] or of_each


_QUEUES = "variables.queues.filter(q, q.name == variables.queue && q.?priorities.hasValue())"
_BAD = "each.hasValue() && !(each.value() in [dyn(null), dyn('')] + q.priorities.map(n, dyn(n)))"


def _says(classes: str) -> str:
    """CEL: what is said of the first of some classes that the queue `q` has not."""
    listed = "q.priorities.map(n, string(n)).join(', ')"
    said = f"{classes}.filter(each, {_BAD})[0].value()"
    some = cel.text(_MUST, queue="q.name", allowed=listed, said=said)
    none = cel.text(_NONE, queue="q.name", said=said)
    return f"(size(q.priorities) == 0 ? {none} : {some})"


def _kept(broken: str) -> Fault:
    """The fault of being kept in a queue from which others reclaim."""
    queue = "q.name == variables.queue && q.?reclaimable.orValue(true)"
    return Fault(
        broken=f"{broken} && variables.queues.exists(q, {queue})",
        says=cel.text(_KEPT, queue="variables.queue"),
    )


def _fault(classes: str) -> Fault:
    """The fault of having one of some classes, CEL of a list of optionals."""
    return Fault(
        broken=f"{_QUEUES}.exists(q, {classes}.exists(each, {_BAD}))",
        says=f"{_QUEUES}.map(q, {_says(classes)})[0]",
    )


RULE = Rule(
    id=ID,
    sentence="A pod must have a priority class that its queue may use, and be preemptible.",
    why=(
        "Whoever names the class of production takes the machines of everybody in the queue, and "
        "a class of the system takes those of all queues; who cannot be preempted keeps what is "
        "another queue's share."
    ),
    source="https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/",
    predicate=violations,
    admission=pods_or_object(
        (*KINDS, ("scheduling.volcano.sh", "podgroups")),
        [_fault(CLASSES_OF_JOB), _kept(f"object.kind == 'PodGroup' && {IS_KEPT}")],
        of_pods(
            "object.kind == 'PodGroup' ? [] : variables.pods",
            [_fault("[p.spec.?priorityClassName]"), _kept(f"{STAYS} && {ASKS_FOR_GPUS}")],
            shared={**WITH_GPUS, **QUEUE},
        ),
    ),
)
