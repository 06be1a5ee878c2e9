"""Whether Volcano may end a pod to give its GPUs to another one, in Python and in CEL.

Volcano looks at `volcano.sh/preemptable`, the annotation before the label, and takes what is not
true for false (v1.14.1, pkg/scheduler/api/pod_info.go); the actions reclaim and preempt leave such
a pod alone. What a Job of Volcano has of either its pods have, too
(pkg/controllers/job/job_controller_util.go).
"""

from policies.language.manifest import at
from policies.language.pods import Pod
from policies.language.rule import Manifest

PREEMPTABLE = "volcano.sh/preemptable"
_TRUE = ("1", "t", "T", "TRUE", "true", "True")  # what Go's ParseBool takes
_GROUP = "batch.volcano.sh/"


def stays(manifest: Manifest, pod: Pod) -> bool:
    """Return whether Volcano leaves a pod alone, whoever waits."""
    job = _job(manifest)
    for marks, own in (("annotations", pod.annotations), ("labels", pod.labels)):
        for said in (at(job, "metadata", marks, PREEMPTABLE), own.get(PREEMPTABLE)):
            if said is not None:
                return said not in _TRUE
    return False


def is_kept(group: Manifest) -> bool:
    """Return whether a PodGroup says so itself."""
    for marks in ("annotations", "labels"):
        said = at(group, "metadata", marks, PREEMPTABLE)
        if said is not None:
            return said not in _TRUE
    return False


def _job(manifest: Manifest) -> object:
    if not str(manifest.get("apiVersion")).startswith(_GROUP):
        return None
    return at(manifest, "spec", "jobTemplate") if manifest.get("kind") == "CronJob" else manifest


def _of_job(marks: str) -> str:
    of_night = f"dyn(object).?spec.?jobTemplate.?metadata.?{marks}[?'{PREEMPTABLE}']"
    own = f"dyn(object).?metadata.?{marks}[?'{PREEMPTABLE}']"
    return (
        f"(!object.apiVersion.startsWith('{_GROUP}') ? optional.none() : "
        f"object.kind == 'CronJob' ? {of_night} : {own})"
    )


def _is_not_true(optional: str) -> str:
    return f"({optional}.hasValue() && !({optional}.value() in {list(_TRUE)}))"


_OF_POD = ".or(".join(
    f"{_of_job(marks)}.or(p.{marks}[?'{PREEMPTABLE}'])" for marks in ("annotations", "labels")
)
STAYS = _is_not_true(f"{_OF_POD})")
"""CEL: `stays` of a pod `p`."""
IS_KEPT = _is_not_true(
    f"object.metadata.?annotations[?'{PREEMPTABLE}'].or(object.metadata.?labels[?'{PREEMPTABLE}'])"
)
"""CEL: `is_kept`."""
