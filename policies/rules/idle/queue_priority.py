"""A pod must have a priority class that its queue may use, none of the system's, be preemptible.

Within a queue a job of a higher class takes the machines of jobs of lower ones, and the classes of
the system (`system-node-critical`) evict whatever is in their way, in every queue. So a queue's
pods name one of its `priorities`, or none; by default these are all classes of the fleet but
`production`. A job says it in its pods or for all of them (Volcano's and Kubeflow's jobs, Argo's
workflows, PodGroups).

A pod on GPUs with `volcano.sh/preemptable: "false"`, as annotation or label, keeps them whoever
they belong to: Volcano neither reclaims them for the queue whose share they are nor preempts the
pod for a higher class. So the pods and PodGroups of a queue that others reclaim from go without.

Outside the queues a pod takes no class that queues give, but `scavenger`, which evicts nobody, and
a class of the system in the system's namespaces alone: Kubernetes' own scheduler, too, ends pods of
lower classes. No PriorityClass is given to pods that name none, or is above those of the fleet, but
those that the settings name. A pod in a file without a namespace is judged by the API server.

ResourceQuotas by class would say the same, but the API server holds them to a namespace without a
quota only with `limitedResources` in its own configuration, which a control plane that somebody
else runs does not let one set.
"""

from collections.abc import Iterator

from policies.language import cel
from policies.language.annotations import CLASSES_OF_JOB, classes_of_job
from policies.language.cel_forms import ASKS_FOR_GPUS, WITH_GPUS, Fault, of_pods, pods_or_object
from policies.language.gangs import QUEUE, queue_of
from policies.language.gpu_work import gpu_pods
from policies.language.manifest import at, describe, is_true, items, quantity
from policies.language.pods import KINDS, pods, subject
from policies.language.pool_table import facts
from policies.language.preemption import IS_KEPT, PREEMPTABLE, STAYS, is_kept, stays
from policies.language.rule import Manifest, Rule, Settings
from policies.language.system_namespaces import WITH_PODS
from settings.names import HIGHEST_PRIORITY

ID = "idle/queue-priority"
_MUST = "must have a priority class of queue '{queue}' ({allowed}) or none; it has '{said}'."
_KEPT = f"must be preemptible in queue '{{queue}}': without {PREEMPTABLE} false."
_NONE = "must have no priority class in queue '{queue}'; it has '{said}'."
_SYSTEM = "must not have '{said}', a priority class for the system's own namespaces."
_OUTSIDE = "must not have '{said}', a priority class for jobs in queues."
_DEFAULT = "must not be given to pods that name no priority class (globalDefault)."
_HIGH = "must not be above {most}, the highest of the fleet's priority classes; it has {said}."
_LOWEST = "scavenger"


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Return the pods that go before others of their queue, which the settings do not allow."""
    if manifest.get("kind") == "PriorityClass":
        return [f"{describe(manifest)} {said}" for said in _of_class(manifest, settings)][:1]
    queue = queue_of(manifest)
    known = {each["name"]: each for each in facts(settings)["queues"]}
    own = known.get(queue)
    allowed = own.get("priorities") if own else None
    reclaimable = own is not None and own.get("reclaimable", True)
    is_free = allowed is None and _is_system(manifest, settings)
    others = [] if queue in known else [each.get("priorities") or () for each in known.values()]
    of_queues = {name for given in others for name in given}

    def fault(said: object) -> str | None:
        if is_free or said in (None, ""):
            return None
        if allowed is None:
            if str(said).startswith("system-"):
                return _SYSTEM.format(said=said)
            taken = said in of_queues and said != _LOWEST
            return _OUTSIDE.format(said=said) if taken else None
        template = _MUST if allowed else _NONE
        named = template.format(queue=queue, allowed=", ".join(allowed), said=said)
        return None if said in allowed else named

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


def _is_system(manifest: Manifest, settings: Settings) -> bool:
    """Return whether an object is in a namespace of the system, or nobody knows in which."""
    space = at(manifest, "metadata", "namespace")
    return space is None or space in (*WITH_PODS, *items(settings["namespaces"]))


def _of_class(manifest: Manifest, settings: Settings) -> Iterator[str]:
    """Yield what is wrong with a PriorityClass; those of Kubernetes have names of its own."""
    name, value = str(at(manifest, "metadata", "name")), quantity(manifest.get("value"))
    if is_true(manifest.get("globalDefault")):
        yield _DEFAULT
    may = name.startswith("system-") or name in items(settings["classes"])
    if value is not None and value > HIGHEST_PRIORITY and not may:
        yield _HIGH.format(most=HIGHEST_PRIORITY, said=f"{value:f}")


_QUEUES = "variables.queues.filter(q, q.name == variables.queue && q.?priorities.hasValue())"
_BAD = "each.hasValue() && !(each.value() in [dyn(null), dyn('')] + q.priorities.map(n, dyn(n)))"


_INSIDE = "variables.queues.exists(q, q.name == variables.queue)"
_FREE = (
    "object.metadata.?namespace.orValue('') == '' || "
    f"object.metadata.namespace in {WITH_PODS} + {cel.setting(ID, 'namespaces')} || "
    f"size({_QUEUES}) != 0"
)
_TEXT = "'%s'.format([each.value()])"
_OF_SYSTEM = f"each.hasValue() && {_TEXT}.startsWith('system-')"
_OF_QUEUES = (
    f"each.hasValue() && {_TEXT} != '{_LOWEST}' && !{_INSIDE} && variables.queues.exists(q, "
    f"q.?priorities.hasValue() && q.priorities.exists(n, n == {_TEXT}))"
)


def _outside(classes: str) -> list[Fault]:
    """The faults of having one of some classes where no queue gives them."""
    return [
        Fault(
            broken=f"!({_FREE}) && {classes}.exists(each, {broken})",
            says=cel.text(
                template, said=f"'%s'.format([{classes}.filter(each, {broken})[0].value()])"
            ),
        )
        for broken, template in ((_OF_SYSTEM, _SYSTEM), (_OF_QUEUES, _OUTSIDE))
    ]


_IS_CLASS = "object.kind == 'PriorityClass'"
_VALUE = "dyn(object).?value.orValue(0)"
_CLASS_FAULTS = [
    Fault(
        broken=f"{_IS_CLASS} && dyn(object).?globalDefault.orValue(false) == true",
        says=cel.literal(_DEFAULT),
    ),
    Fault(
        broken=(
            f"{_IS_CLASS} && {_VALUE} > {HIGHEST_PRIORITY} && "
            "!object.metadata.name.startsWith('system-') && "
            f"!(object.metadata.name in {cel.setting(ID, 'classes')})"
        ),
        says=cel.text(_HIGH, most=f"'{HIGHEST_PRIORITY}'", said=f"string({_VALUE})"),
    ),
]


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
    sentence=(
        "A pod must have a priority class that its queue may use, none of the system's, and be "
        "preemptible."
    ),
    why=(
        "Whoever names the class of production takes the machines of everybody in the queue, and "
        "a class of the system takes those of all queues; who cannot be preempted keeps what is "
        "another queue's share."
    ),
    source="https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/",
    schema={
        "namespaces": {
            "type": "array",
            "items": {"type": "string", "pattern": "^[a-z0-9-]+$"},
            "default": [],
            "description": "Namespaces whose pods may have any priority class, beside those of the "
            "cluster and of this program.",
        },
        "classes": {
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            # of KubeVirt and Longhorn, whose own manifests make them
            "default": ["kubevirt-cluster-critical", "longhorn-critical"],
            "description": "PriorityClasses of system parts that are above those of the fleet.",
        },
    },
    predicate=violations,
    admission=pods_or_object(
        (
            *KINDS,
            ("scheduling.volcano.sh", "podgroups"),
            ("scheduling.k8s.io", "priorityclasses"),
        ),
        [
            *_CLASS_FAULTS,
            _fault(CLASSES_OF_JOB),
            *_outside(CLASSES_OF_JOB),
            _kept(f"object.kind == 'PodGroup' && {IS_KEPT}"),
        ],
        of_pods(
            "object.kind in ['PodGroup', 'PriorityClass'] ? [] : variables.pods",
            [
                _fault("[p.spec.?priorityClassName]"),
                *_outside("[p.spec.?priorityClassName]"),
                _kept(f"{STAYS} && {ASKS_FOR_GPUS}"),
            ],
            shared={**WITH_GPUS, **QUEUE},
        ),
    ),
)
