"""Scavenger work must be such that others can take its GPUs at any time.

- Its priority class is below 0, the priority of a pod without one, and itself evicts nobody.
- Its queue, by the name of the class, may be reclaimed by other queues.
- Its pods, those of the class or of a job in its queue, do not keep Volcano or Karpenter from
  ending them: no `volcano.sh/preemptable: "false"` as annotation or label, no annotation
  `karpenter.sh/do-not-disrupt: "true"`. What a Job of Volcano has of these its pods have, too.
"""

from collections.abc import Iterator

from policies.language import cel
from policies.language.annotations import CLASSES_OF_JOB, classes_of_job
from policies.language.cel_forms import Fault, of_pods, pods_or_object
from policies.language.manifest import at, describe, is_false
from policies.language.pods import KINDS, pods, subject
from policies.language.preemption import PREEMPTABLE, STAYS, stays
from policies.language.replicas import JOB, volcano_job
from policies.language.rule import Manifest, Rule, Settings

ID = "idle/scavenger"
_KEEPS = "karpenter.sh/do-not-disrupt"
_VALUE = "must have a value below 0, the priority of pods without a class."
_EVICTS = "must have preemptionPolicy Never."
_QUEUE = "must not have spec.reclaimable false, as the queue of the class '{name}'."
_POD = (
    f"must be preemptible in the class '{{name}}': without {PREEMPTABLE} false and without "
    f"{_KEEPS}."
)


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns what keeps others from the GPUs of scavenger work."""
    scavenger = str(settings["priority_class"])
    if at(manifest, "metadata", "name") == scavenger:
        faults = list(_of_object(manifest, scavenger))
        if faults:
            return [f"{describe(manifest)} {fault}" for fault in faults]
    of_job = [*classes_of_job(manifest), at(volcano_job(manifest), "queue")]
    return [
        f"{subject(manifest, pod)} {_POD.format(name=scavenger)}"
        for pod in pods(manifest)
        if scavenger in (*of_job, pod.spec.get("priorityClassName"))
        and (stays(manifest, pod) or pod.annotations.get(_KEEPS) == "true")
    ]


def _of_object(manifest: Manifest, scavenger: str) -> Iterator[str]:
    if manifest.get("kind") == "PriorityClass":
        value = manifest.get("value")
        if not isinstance(value, int) or value >= 0:
            yield _VALUE
        if manifest.get("preemptionPolicy") != "Never":
            yield _EVICTS
    if (
        manifest.get("kind") == "Queue"
        and str(manifest.get("apiVersion")).startswith("scheduling.volcano.sh/")
        and is_false(at(manifest, "spec", "reclaimable"))
    ):
        yield _QUEUE.format(name=scavenger)


_CLASS = cel.setting(ID, "priority_class")
_NAMED = f"object.metadata.?name.orValue('') == {_CLASS}"
_PODS = (
    "object.kind in ['PriorityClass', 'Queue'] ? [] : variables.pods.filter(p, "
    f"({CLASSES_OF_JOB} + [{JOB}.?queue, p.spec.?priorityClassName])"
    f".exists(each, each.hasValue() && each.value() == {_CLASS}))"
)
_OBJECT_FAULTS = [
    Fault(
        broken=(
            f"object.kind == 'PriorityClass' && {_NAMED} && dyn(object).?value.orValue(0) >= 0"
        ),
        says=cel.literal(_VALUE),
    ),
    Fault(
        broken=(
            f"object.kind == 'PriorityClass' && {_NAMED} && "
            "dyn(object).?preemptionPolicy.orValue('') != 'Never'"
        ),
        says=cel.literal(_EVICTS),
    ),
    Fault(
        broken=(
            f"object.kind == 'Queue' && {_NAMED} && !dyn(object).?spec.?reclaimable.orValue(true)"
        ),
        says=cel.text(_QUEUE, name=_CLASS),
    ),
]

RULE = Rule(
    id=ID,
    sentence="Scavenger work must be preemptible, and its class must evict nobody.",
    why=(
        "Work that only fills gaps is worth its GPUs as long as nobody else wants them; where it "
        "cannot be taken away, it fills the fleet."
    ),
    source="https://github.com/volcano-sh/volcano/blob/v1.14.1/pkg/scheduler/api/pod_info.go",
    schema={
        "priority_class": {
            "type": "string",
            "pattern": "^[a-z0-9.-]+$",
            "default": "scavenger",
            "description": "The priority class of such work, and the name of its queue.",
        }
    },
    predicate=violations,
    admission=pods_or_object(
        (*KINDS, ("scheduling.k8s.io", "priorityclasses"), ("scheduling.volcano.sh", "queues")),
        _OBJECT_FAULTS,
        of_pods(
            _PODS,
            [
                Fault(
                    broken=f"{STAYS} || p.annotations[?'{_KEEPS}'].orValue('') == 'true'",
                    says=cel.text(_POD, name=_CLASS),
                )
            ],
        ),
    ),
)
