"""A pod's grace period must not be shorter than its checkpoint takes.

The kubelet kills a pod `terminationGracePeriodSeconds` (by default 30) after it sends SIGTERM. The
annotation `fleet.gpu/checkpoint-seconds` declares that the pod then writes a checkpoint, and how
long that takes.
"""

from policies.language import cel
from policies.language.annotations import CHECKPOINT, count, is_count
from policies.language.cel_forms import Fault, of_pods
from policies.language.gpu_work import counted
from policies.language.pods import Pod, pods, subject
from policies.language.rule import Manifest, Rule, Settings

ID = "idle/grace-period"
_DEFAULT_SECONDS = 30
_NO_NUMBER = f"must have as annotation {CHECKPOINT} a whole number of seconds, 1 or more."
_SHORT = f"must have terminationGracePeriodSeconds of at least its annotation {CHECKPOINT}."


def violations(manifest: Manifest, _settings: Settings) -> list[str]:
    """Returns the pods that are killed while they write their checkpoint."""
    faults = [(pod, _fault(pod)) for pod in pods(manifest) if CHECKPOINT in pod.annotations]
    return [f"{subject(manifest, pod)} {fault}" for pod, fault in faults if fault]


def _fault(pod: Pod) -> str | None:
    needed = counted(pod.annotations[CHECKPOINT])
    if needed is None:
        return _NO_NUMBER
    given = pod.spec.get("terminationGracePeriodSeconds")
    number = _DEFAULT_SECONDS if given is None else given
    return _SHORT if not isinstance(number, int) or number < needed else None


_SAID = f"p.annotations[?'{CHECKPOINT}']"
_GIVEN = f"p.spec.?terminationGracePeriodSeconds.orValue({_DEFAULT_SECONDS})"

RULE = Rule(
    id=ID,
    sentence="A pod's grace period must not be shorter than its checkpoint takes.",
    why=(
        "A checkpoint that is cut off is lost: the work since the one before it is done, and paid, "
        "again."
    ),
    source="https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/",
    predicate=violations,
    admission=of_pods(
        f"variables.pods.filter(p, {_SAID}.hasValue())",
        [
            Fault(broken=f"!{is_count(_SAID)}", says=cel.literal(_NO_NUMBER)),
            Fault(broken=f"{_GIVEN} < {count(_SAID)}", says=cel.literal(_SHORT)),
        ],
    ),
)
