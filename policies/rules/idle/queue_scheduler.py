"""A pod with GPUs in a queue's namespace must not name another scheduler than Volcano.

Volcano alone knows the bound of a queue and its share; what another scheduler starts is in no queue
and takes machines on which a gang waits to fit. Volcano's webhook gives every pod of a queue its
name, so that a pod need not say it; one that names a scheduler of its own would not get that. At
the API server the policy `fleet-queue-pods` holds the pods themselves to it, in each stage and
behind the webhook.
"""

from policies.language import cel
from policies.language.cel_forms import GPU_PODS, WITH_GPUS, Fault, of_pods
from policies.language.gpu_work import gpu_pods
from policies.language.manifest import at
from policies.language.pods import KINDS, subject
from policies.language.pool_table import facts
from policies.language.rule import Admission, Manifest, Rule, Settings

ID = "idle/queue-scheduler"
_DEFAULT = "default-scheduler"
_GIVEN = ("batch.volcano.sh", "flow.volcano.sh", "kubeflow.org", "ray.io", "trainer.kubeflow.org")
"""The groups of jobs whose controllers give the name to their pods."""
_COPIED = "Notebook"
_MUST = (
    "must have schedulerName: volcano or none in the namespace of queue '{queue}'; the scheduler "
    "'{said}' knows no queues."
)
_TAKEN = ("volcano", _DEFAULT)
"""A template of which nobody said anything has the second at the API server."""


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Return the pods with GPUs that go past their queue."""
    queue = at(manifest, "metadata", "namespace")
    group = str(manifest.get("apiVersion")).rpartition("/")[0]
    if group in _GIVEN and manifest.get("kind") != _COPIED:
        return []
    if all(each["name"] != queue for each in facts(settings)["queues"]):
        return []
    found = [(pod, pod.spec.get("schedulerName") or _DEFAULT) for pod in gpu_pods(manifest)]
    return [
        f"{subject(manifest, pod)} {_MUST.format(queue=queue, said=said)}"
        for pod, said in found
        if said not in _TAKEN
    ]


_SPACE = "object.metadata.?namespace.orValue('')"
_SAID = f"p.spec.?schedulerName.orValue('{_DEFAULT}')"
_KINDS = tuple(
    (group, plural)
    for group, plural in KINDS
    if group not in _GIVEN or plural == f"{_COPIED.lower()}s"
)
_OF_PODS = of_pods(
    GPU_PODS,
    [
        Fault(
            broken=(
                f"variables.queues.exists(q, q.name == {_SPACE}) && !({_SAID} in {list(_TAKEN)})"
            ),
            says=cel.text(_MUST, queue=_SPACE, said=_SAID),
        )
    ],
)

RULE = Rule(
    id=ID,
    sentence="A pod with GPUs in a queue's namespace must name no scheduler but Volcano.",
    why=(
        "What another scheduler starts takes machines beyond the queue's bound, and while Volcano "
        "counts on them for a gang."
    ),
    source="https://volcano.sh/en/docs/queue/",
    predicate=violations,
    admission=Admission(kinds=_KINDS, shared=WITH_GPUS, fault=_OF_PODS.fault),
)
