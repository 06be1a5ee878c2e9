"""A pod with GPUs in a queue's namespace must be scheduled by Volcano.

Volcano alone knows the bound of a queue and its share. What another scheduler starts is in no
queue: it goes past both, and takes machines on which a gang waits to fit.

A pod says it by `schedulerName: volcano`; so does the template of a Deployment, a Job or a
workflow. Volcano gives its own jobs its name, and the operators of Ray and Kubeflow give it to the
pods of their jobs when they are told of Volcano (KubeRay's `--batch-scheduler`, the MPI and
training operators' `--gang-scheduling` and `--gang-scheduler-name`): their pods are judged when
they are made.
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
    "must have schedulerName: volcano in the namespace of queue '{queue}'; the scheduler '{said}' "
    "knows no queues."
)


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
        if said != "volcano"
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
            broken=f"variables.queues.exists(q, q.name == {_SPACE}) && {_SAID} != 'volcano'",
            says=cel.text(_MUST, queue=_SPACE, said=_SAID),
        )
    ],
)

RULE = Rule(
    id=ID,
    sentence="A pod with GPUs in a queue's namespace must be scheduled by Volcano.",
    why=(
        "What another scheduler starts takes machines beyond the queue's bound, and while Volcano "
        "counts on them for a gang."
    ),
    source="https://volcano.sh/en/docs/queue/",
    predicate=violations,
    admission=Admission(kinds=_KINDS, shared=WITH_GPUS, fault=_OF_PODS.fault),
)
