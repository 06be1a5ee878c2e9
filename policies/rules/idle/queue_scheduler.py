"""A pod with GPUs in a queue's namespace must not name another scheduler than Volcano.

Volcano alone knows the bound of a queue and its share; what another scheduler starts is in no queue
and takes machines on which a gang waits to fit. Volcano's webhook gives every pod of a queue its
name, so that no object need say it, and none may say another one: training operators and Volcano's
own controller leave a name that a template has. At the API server the policy `fleet-queue-pods`
holds the pods themselves to it, in each stage and behind the webhook.

A name stands in a pod or its template, for all pods in a Workflow of Argo and a Job of Volcano, in
a component of KServe, and in Spark's `batchScheduler` and `sparkConf`. `default-scheduler` is
another name, too, but in Kubernetes' own kinds: there the API server writes it into what says none.
"""

from collections.abc import Iterator

from policies.language import cel
from policies.language.cel_forms import GPU_PODS, Fault, of_pods
from policies.language.gpu_work import gpu_pods
from policies.language.manifest import at
from policies.language.pod_kinds import kind_of
from policies.language.pods import Pod, subject
from policies.language.pool_table import facts
from policies.language.rule import Manifest, Rule, Settings

ID = "idle/queue-scheduler"
_VOLCANO, _DEFAULT = "volcano", "default-scheduler"
_MUST = (
    "must have schedulerName: volcano or none in the namespace of queue '{queue}'; the scheduler "
    "'{said}' knows no queues."
)
_OF_KUBERNETES = ("", "apps", "batch", "extensions")
_OF_VOLCANO = ("batch.volcano.sh", "flow.volcano.sh")
"""The groups whose jobs have a name for the tasks that have none."""
_OF_CRON = ("jobTemplate", "spec")
_SPARK = "spark.kubernetes.{}scheduler.name"


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Return the pods with GPUs that go past their queue."""
    queue = at(manifest, "metadata", "namespace")
    if all(each["name"] != queue for each in facts(settings)["queues"]):
        return []
    group = str(manifest.get("apiVersion")).rpartition("/")[0]
    taken = (None, _VOLCANO, *((_DEFAULT,) if group in _OF_KUBERNETES else ()))
    found = ((pod, next(_named(manifest, pod, group), None)) for pod in gpu_pods(manifest))
    return [
        f"{subject(manifest, pod)} {_MUST.format(queue=queue, said=said)}"
        for pod, said in found
        if said not in taken
    ]


def _named(manifest: Manifest, pod: Pod, group: str) -> Iterator[object]:
    """Yield the schedulers that an object names for a pod; the first one counts."""
    own, spec = pod.spec.get("schedulerName"), manifest.get("spec")
    said = [own]
    if group in _OF_VOLCANO:
        said = [own, at(spec, "schedulerName"), at(spec, *_OF_CRON, "schedulerName")]
    elif kind_of(manifest) is None:
        way = pod.name.split(".")
        around = [at(spec, *way[:end], "schedulerName") for end in range(len(way), -1, -1)]
        of_template = at(pod.spec, "template", "spec", "schedulerName")
        others = (of_template, *around, *_configured(spec, pod.name))
        said = [*_batch_schedulers(spec), own, *others]
    yield from (each for each in said if each not in (None, ""))


def _batch_schedulers(spec: object) -> Iterator[object]:
    """Spark's operator takes it before what the driver and the executors say."""
    yield at(spec, "batchScheduler")
    yield at(spec, "template", "batchScheduler")


def _configured(spec: object, role: str) -> Iterator[object]:
    """Yield what Spark itself reads where its operator says nothing."""
    for conf in (at(spec, "sparkConf"), at(spec, "template", "sparkConf")):
        yield at(conf, _SPARK.format(f"{role}."))
        yield at(conf, _SPARK.format(""))


_SPACE = "object.metadata.?namespace.orValue('')"
_OF_JOB = (
    f"({list(_OF_VOLCANO)}.exists(g, object.apiVersion.startsWith(g + '/')) ? "
    "dyn(object).?spec.?schedulerName.or("
    f"dyn(object).?spec.?{'.?'.join(_OF_CRON)}.?schedulerName).orValue('') : '')"
)
_SAID = (
    f"([dyn(p.spec.?schedulerName.orValue('')), dyn({_OF_JOB})]"
    f".filter(s, !(s in [dyn(null), dyn('')])) + [dyn('{_VOLCANO}')])[0]"
)
_TAKEN = (
    f"(object.apiVersion in ['v1', 'apps/v1', 'batch/v1'] ? ['{_VOLCANO}', '{_DEFAULT}'] "
    f": ['{_VOLCANO}'])"
)
_OTHER = f"variables.queues.exists(q, q.name == {_SPACE}) && !({_SAID} in {_TAKEN})"

RULE = Rule(
    id=ID,
    sentence="A pod with GPUs in a queue's namespace must name no scheduler but Volcano.",
    why=(
        "What another scheduler starts takes machines beyond the queue's bound, and while Volcano "
        "counts on them for a gang."
    ),
    source="https://volcano.sh/en/docs/queue/",
    predicate=violations,
    admission=of_pods(
        GPU_PODS,
        [
            Fault(
                broken=_OTHER,
                says=cel.text(_MUST, queue=_SPACE, said=f"'%s'.format([{_SAID}])"),
            )
        ],
    ),
)
