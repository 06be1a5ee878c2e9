"""Objects by which somebody takes what is the system's or others': `(rule, what, object)`."""

from collections.abc import Iterator
from itertools import chain

from tests.rehearsal.admission.cases_isolation import role
from tests.support.admission.objects import KINDS, Object, gpus, limited, made, template

Row = tuple[str, str, Object]
LABELS, DEVICES = "cost/labels", "isolation/unrequested-gpus"
PRIORITY, RBAC = "idle/queue-priority", "isolation/rbac-wildcards"
BOOTSTRAP = "kubernetes.io/bootstrapping"
OF_VIEWERS = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}


def _takes_in(labels: dict[str, str] | None = None, *expressions: Object) -> Object:
    said = {"matchLabels": labels or {}, "matchExpressions": list(expressions)}
    selector = {key: value for key, value in said.items() if value}
    return role("ClusterRole", aggregationRule={"clusterRoleSelectors": [selector]}, rules=[])


def _has(key: str, operator: str, *values: str) -> Object:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def _urgent(kind: str, name: str, namespace: str = "kube-public") -> Object:
    found = KINDS[kind](template(limited(), priorityClassName=name))
    return {**found, "metadata": {**found["metadata"], "namespace": namespace}}


def _class(name: str, value: int, **fields: object) -> Object:
    metadata = {"name": name}
    version = "scheduling.k8s.io/v1"
    return {
        "apiVersion": version,
        "kind": "PriorityClass",
        "metadata": metadata,
        "value": value,
        **fields,
    }


def _range(kind: str = "Container", namespace: str = "default", **parts: object) -> Object:
    found = {key: {"cpu": "1", "nvidia.com/gpu": value} for key, value in parts.items()}
    return made("v1", "LimitRange", {"limits": [{"type": kind, **found}]}, namespace=namespace)


def _of_team(kind: str, team: str, namespace: str = "desk") -> Object:
    inside = template(gpus())
    inside["metadata"]["labels"]["fleet.gpu/team"] = team
    found = KINDS[kind](inside)
    return {**found, "metadata": {**found["metadata"], "namespace": namespace}}


def good() -> Iterator[Row]:
    """Objects that keep their rule."""
    own = {BOOTSTRAP: "rbac-defaults"}
    for name, found in {
        "the server's roles of viewers": _takes_in({**own, **OF_VIEWERS}),
        "roles of viewers that are not the server's": _takes_in(
            OF_VIEWERS, _has(BOOTSTRAP, "DoesNotExist")
        ),
        "the server's roles of another mark": _takes_in({BOOTSTRAP: "mine"}),
    }.items():
        yield RBAC, name, found
    yield from ((PRIORITY, name, found) for name, found in _modest())
    yield LABELS, "a pod of the queue's team", _of_team("Pod", "desk")
    yield LABELS, "a pod of another team in a queue of none", _of_team("Pod", "rival", "research")
    yield DEVICES, "a range for pods", _range("Pod", max="8")
    yield DEVICES, "a range that gives none", _range(default="0", defaultRequest="0", max="0")
    yield DEVICES, "a range of the system", _range(namespace="kube-system", default="1")


def _modest() -> Iterator[tuple[str, Object]]:
    for space in ("kube-system", "gpu-operator"):
        critical = _urgent("DaemonSet", "system-node-critical", space)
        yield f"a DaemonSet of the system in {space}", critical
    yield "the lowest class in no queue", _urgent("Deployment", "scavenger")
    yield "a class of no queue in no queue", _urgent("Deployment", "high")
    yield "the highest class of the fleet", _class("mine", 1_000_000)
    yield "a class of Longhorn", _class("longhorn-critical", 1_000_000_000)


def bad() -> Iterator[Row]:
    """Objects that break their rule."""
    for part in ("default", "max"):
        yield DEVICES, f"a range with a {part} of containers", _range(**{part: "1"})
    for kind in ("Pod", "Job", "Workflow"):
        yield LABELS, f"a {kind} of another team in the queue", _of_team(kind, "rival")
    request = _range(defaultRequest="1", default="1", max="2", min="1")
    yield DEVICES, "a range with all of them", request
    yield from chain(_all_roles(), ((PRIORITY, name, found) for name, found in _first()))


def _first() -> Iterator[tuple[str, Object]]:
    for kind in ("Pod", "Deployment", "CronJob", "Workflow"):
        critical = _urgent(kind, "system-cluster-critical")
        yield f"a {kind} of the system's class in no queue", critical
    yield "a pod of another class of the system", _urgent("Pod", "system-node-critical", "default")
    yield "a service of a queue's class in no queue", _urgent("Deployment", "interactive")
    whole = _urgent("Workflow", "")
    whole["spec"]["podPriorityClassName"] = "system-node-critical"
    yield "a workflow that gives its pods the system's class", whole
    yield "a class for all pods", _class("all", 10, globalDefault=True)
    yield "a class above the fleet's", _class("above", 1_000_001)


def _all_roles() -> Iterator[Row]:
    own = {BOOTSTRAP: "rbac-defaults"}
    for name, found in {
        "by its label": _takes_in(own),
        "by its label and another's lack": _takes_in(own, _has("mine", "NotIn", "a")),
        "by the label's being there": _takes_in(None, _has(BOOTSTRAP, "Exists")),
        "by one of two values": _takes_in(None, _has(BOOTSTRAP, "In", "mine", "rbac-defaults")),
        "by another value's lack": _takes_in(
            None, _has(BOOTSTRAP, "Exists"), _has(BOOTSTRAP, "NotIn", "mine")
        ),
    }.items():
        yield RBAC, f"cluster-admin {name}", found


def malformed() -> Iterator[Row]:
    """No such object here."""
    yield from ()
