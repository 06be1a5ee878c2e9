"""The gangs that an object asks for: the queue that they wait in, and the GPUs without which none
of their pods starts; in Python and in CEL.
"""

from collections.abc import Mapping
from decimal import Decimal

from policies.language import cel
from policies.language.gpu_work import counted
from policies.language.manifest import at, items, mapping, quantity
from policies.language.pods import KINDS as OF_PODS
from policies.language.pods import KUBEFLOW, Pod, pods
from policies.language.pool_table import Malformed, cel_amount, total
from policies.language.rule import Kind, Manifest
from settings.names import GPU

SCHEDULING = "scheduling.volcano.sh/"
KINDS: tuple[Kind, ...] = (
    ("batch.volcano.sh", "jobs"),
    ("scheduling.volcano.sh", "podgroups"),
    *(kind for kind in OF_PODS if kind[0] == "kubeflow.org" and kind[1] != "notebooks"),
)
_GROUPS = {
    "Job": "batch.volcano.sh/",
    "PodGroup": SCHEDULING,
    **dict.fromkeys(KUBEFLOW, "kubeflow.org/"),
}
_BY_KIND = {"Job": ("spec",), "PodGroup": ("spec",)}
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
    promised, tasks = quantity(_said(gang, "minResources", GPU)), _tasks(gang)
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
    tasks = _tasks(gang)
    if not tasks:
        return gpus(gang)
    promised = quantity(_said(gang, "minResources", GPU))
    pods_made = sum(many for many, _ in tasks)
    spare = max(0, pods_made - _members(gang)) * max(size for _, size in tasks)
    wanted = sum((many * size for many, size in tasks), Decimal(0)) - spare
    return max(wanted, promised or wanted)


def _said(gang: Manifest, *path: str) -> object:
    """Return a scheduling field of a gang; a Job of Volcano has no `minResources`."""
    return at(gang, *_BY_KIND.get(str(gang.get("kind")), _POLICY), *path)


def _members(gang: Manifest) -> int:
    """How many pods start at once, as Volcano's webhook or the training operator fills it in."""
    said = _said(gang, "minAvailable")
    if gang.get("kind") != "Job":
        many = sum(counted(each) or 0 for each in _replicas(gang))
        return many if said is None else counted(said) or 0
    tasks = items(at(gang, "spec", "tasks"))
    least = [mapping(task).get("minAvailable", at(task, "replicas")) for task in tasks]
    of_tasks = sum(1 if each is None else counted(each) or 0 for each in least)
    return counted(said) or of_tasks


def _replicas(gang: Manifest) -> list[object]:
    """How many there are of each pod, as they are written, in the order of `pods`."""
    kind = str(gang.get("kind"))
    if kind == "Job":
        found = [at(task, "replicas") for task in items(at(gang, "spec", "tasks"))]
    else:
        roles = mapping(at(gang, "spec", KUBEFLOW[kind]))
        found = [at(roles[role], "replicas") for role in sorted(roles)]
    return [1 if each is None else each for each in found]


def _tasks(gang: Manifest) -> list[tuple[int, Decimal]] | None:
    """Return the pods of each task or role and the GPUs of one pod; None where unknown."""
    found: list[tuple[int, Decimal]] = []
    if gang.get("kind") == "PodGroup":
        return found
    for replicas, pod in zip(_replicas(gang), pods(gang), strict=True):
        many, size = counted(replicas), _size(pod)
        if size is None:
            return None
        found += [(many, size)] if many else []
    return found


def _size(pod: Pod) -> Decimal | None:
    try:
        return Decimal(total(pod, GPU))
    except Malformed:
        return None


def _number(optional: str, otherwise: str) -> str:
    """CEL: what an optional has as a double; null is as good as none."""
    return f"double({optional}.orValue(null) == null ? dyn({otherwise}) : {optional}.value())"


_IS_JOB = "object.kind == 'Job'"
_SPEC = "dyn(object).spec"
_SAID = "dyn(object).spec.?runPolicy.?schedulingPolicy"
_OWN = "object.kind in ['Job', 'PodGroup']"
_TASKS = cel.listed(_SPEC, "tasks")
_FIRST, _CONTAINERS = (
    cel.listed("t.?template.?spec", name) for name in ("initContainers", "containers")
)
_STAYS = "c.?restartPolicy.orValue('') == 'Always'"
_AMOUNT = cel_amount("c", f"'{GPU}'")
_EACH = (
    f"([({_CONTAINERS} + {_FIRST}.filter(c, {_STAYS})).map(c, {_AMOUNT}).sum()] + "
    f"{_FIRST}.filter(c, !({_STAYS})).map(c, {_AMOUNT})).max()"
)
_OF_TASKS = f"{_TASKS}.map(t, {_number('t.?minAvailable', _number('t.?replicas', '1'))}).sum()"
_GROUP = f"({_OWN} ? {_SPEC}.?minResources : {_SAID}.?minResources)[?'{GPU}']"

VARIABLES: Mapping[str, str] = {
    "named": f"({_OWN} ? {_SPEC}.?queue : {_SAID}.?queue).orValue('')",
    "queue": (
        "variables.named in [dyn(null), dyn(''), dyn('default')] ? "
        "object.metadata.?namespace.orValue('') : variables.named"
    ),
    "roles": cel.PODS["roles"],
    "made": (
        f"({_IS_JOB} ? dyn({_TASKS}) : dyn(variables.roles.map(r, variables.roles[r])))"
        f".map(t, {{'many': {_number('t.?replicas', '1')}, 'each': {_EACH}}})"
        ".filter(t, t.many > 0.0)"
    ),
    "number": "variables.made.map(t, t.many).sum()",
    "members": (
        f"{_IS_JOB} ? ({_number(f'{_SPEC}.?minAvailable', '0')} > 0.0 ? "
        f"double({_SPEC}.minAvailable) : {_OF_TASKS}) : "
        f"{_number(f'{_SAID}.?minAvailable', 'variables.number')}"
    ),
    "spare": ("variables.members < variables.number ? variables.number - variables.members : 0.0"),
    "promised": (
        f"{_GROUP}.hasValue() ? {cel.amount(f'{_GROUP}.value()')}.asApproximateFloat() : 0.0"
    ),
    "wanted": (
        "([variables.promised] + (size(variables.made) == 0 ? [] : "
        "[variables.made.map(t, t.many * t.each).sum() - "
        "variables.spare * variables.made.map(t, t.each).max()])).max()"
    ),
}
"""Variables: a gang's `queue`, and its `wanted` GPUs as `least` counts them."""
