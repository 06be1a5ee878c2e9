"""The gangs that an object asks for: the queue that they wait in, and the GPUs without which none
of their pods starts; in Python and in CEL.
"""

from collections.abc import Mapping
from decimal import Decimal

from policies.language import cel
from policies.language.gpu_work import counted
from policies.language.manifest import at, items, mapping, quantity
from policies.language.pods import KINDS as OF_PODS
from policies.language.pods import KUBEFLOW
from policies.language.replicas import JOB, cel_number, number, volcano_job
from policies.language.replicas import VARIABLES as MADE
from policies.language.replicas import gpus as made
from policies.language.rule import Kind, Manifest
from settings.names import GPU

SCHEDULING = "scheduling.volcano.sh/"
KINDS: tuple[Kind, ...] = (
    ("batch.volcano.sh", "jobs"),
    ("batch.volcano.sh", "cronjobs"),
    ("scheduling.volcano.sh", "podgroups"),
    *(kind for kind in OF_PODS if kind[0] == "kubeflow.org" and kind[1] != "notebooks"),
)
_GROUPS = {
    **dict.fromkeys(("Job", "CronJob"), "batch.volcano.sh/"),
    "PodGroup": SCHEDULING,
    **dict.fromkeys(KUBEFLOW, "kubeflow.org/"),
}
_OF_VOLCANO = ("Job", "CronJob", "PodGroup")
_NAMES = (GPU, f"requests.{GPU}")
_POLICY = ("spec", "runPolicy", "schedulingPolicy")


def is_gang(manifest: Manifest) -> bool:
    """Return whether an object is a gang, which starts whole or not at all."""
    group = _GROUPS.get(str(manifest.get("kind")))
    return group is not None and str(manifest.get("apiVersion")).startswith(group)


def queue_of(gang: Manifest) -> str:
    """The queue in which a gang waits, by default the one with the name of its namespace."""
    named = _said(gang, "queue")
    return str(at(gang, "metadata", "namespace") if named in (None, "", "default") else named)


def gpus(gang: Manifest) -> Decimal | None:
    """The GPUs without which a gang does not start, None where nobody can say."""
    promised, tasks = _promised(gang), made(gang)
    if gang.get("kind") == "PodGroup" or tasks is None:
        return promised
    missing = _members(gang)
    wanted = Decimal(0)
    for many, size in sorted(tasks, key=lambda task: task[1]):
        wanted += min(many, missing) * size
        missing -= min(many, missing)
    return max(wanted, promised or wanted)


def least(gang: Manifest) -> Decimal | None:
    """Return the same or less: a bound that CEL can compute, which cannot sort."""
    tasks = made(gang)
    if not tasks:
        return gpus(gang)
    promised = _promised(gang)
    pods_made = sum(many for many, _ in tasks)
    spare = max(0, pods_made - _members(gang)) * max(size for _, size in tasks)
    wanted = sum((many * size for many, size in tasks), Decimal(0)) - spare
    return max(wanted, promised or wanted)


def unsized(gang: Manifest) -> int | None:
    """The pods of a PodGroup of several that does not say what they ask for, else None.

    A Job of Volcano and a training job show their pods.
    """
    many = counted(_said(gang, "minMember")) or 0
    says = gang.get("kind") != "PodGroup" or bool(_said(gang, "minResources"))
    return None if says or many < 2 else many


def _promised(gang: Manifest) -> Decimal | None:
    """The GPUs that a gang says itself, by either name that Volcano counts them by."""
    named = (quantity(_said(gang, "minResources", name)) for name in _NAMES)
    return max((each for each in named if each is not None), default=None)


def _said(gang: Manifest, *path: str) -> object:
    """Return a scheduling field of a gang; a Job of Volcano has no `minResources`."""
    if gang.get("kind") in _OF_VOLCANO:
        return at(volcano_job(gang), *path)
    return at(gang, *_POLICY, *path)


def _members(gang: Manifest) -> int:
    """How many pods start at once, as Volcano's webhook or the training operator fills it in."""
    said = _said(gang, "minAvailable")
    if gang.get("kind") not in ("Job", "CronJob"):
        roles = mapping(at(gang, "spec", KUBEFLOW.get(str(gang.get("kind")), "")))
        many = sum(number(at(role, "replicas"), 1) for role in roles.values())
        return many if said is None else counted(said) or 0
    tasks = items(at(volcano_job(gang), "tasks"))
    least = [mapping(task).get("minAvailable", at(task, "replicas")) for task in tasks]
    of_tasks = sum(1 if each is None else counted(each) or 0 for each in least)
    return counted(said) or of_tasks


_IS_JOB = "object.kind in ['Job', 'CronJob']"
_SPEC = f"{JOB}.orValue({{}})"
_SAID = "dyn(object).?spec.?runPolicy.?schedulingPolicy"
_OWN = f"object.kind in {list(_OF_VOLCANO)}"
_TASKS = cel.listed(_SPEC, "tasks")
_OF_TASKS = (
    f"{_TASKS}.map(t, {cel_number('t.?minAvailable', cel_number('t.?replicas', '1'))}).sum()"
)
_RESOURCES = f"({_OWN} ? {_SPEC}.?minResources : {_SAID}.?minResources)"
_GIVEN = f"{list(_NAMES)}.map(n, {_RESOURCES}[?n]).filter(n, n.hasValue())"
_MEMBERS = cel_number(f"{_SPEC}.?minMember", "0")

QUEUE: Mapping[str, str] = {
    "named": f"({_OWN} ? {_SPEC}.?queue : {_SAID}.?queue).orValue('')",
    "queue": (
        "variables.named in [dyn(null), dyn(''), dyn('default')] ? "
        "object.metadata.?namespace.orValue('') : variables.named"
    ),
}
"""Variables: the `queue` of an object, `queue_of` it."""
VARIABLES: Mapping[str, str] = {
    **QUEUE,
    **MADE,
    "number": "variables.made.map(t, t.many).sum()",
    "members": (
        f"{_IS_JOB} ? ({cel_number(f'{_SPEC}.?minAvailable', '0')} > 0.0 ? "
        f"double({_SPEC}.minAvailable) : {_OF_TASKS}) : "
        f"{cel_number(f'{_SAID}.?minAvailable', 'variables.number')}"
    ),
    "spare": ("variables.members < variables.number ? variables.number - variables.members : 0.0"),
    "promised": (
        f"([0.0] + {_GIVEN}.map(n, {cel.amount('n.value()')}.asApproximateFloat())).max()"
    ),
    "wanted": (
        "([variables.promised] + (size(variables.made) == 0 ? [] : "
        "[variables.made.map(t, t.many * t.each).sum() - "
        "variables.spare * variables.made.map(t, t.each).max()])).max()"
    ),
}
"""Variables: a gang's `queue`, and its `wanted` GPUs as `least` counts them."""
_ASKED = f"{_SPEC}.?minResources.orValue({{}})"
UNSIZED = f"(object.kind == 'PodGroup' && {_MEMBERS} > 1.0 && size({_ASKED}) == 0)"
"""CEL: whether there is something `unsized`."""
