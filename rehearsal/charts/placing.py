"""On which nodes the scheduler may put a pod: node selector, required node affinity, taints.

What depends on other pods (affinity between pods, spread) and on volumes is not looked at.
Source: k8s.io/component-helpers, scheduling/corev1/nodeaffinity, and Toleration.ToleratesTaint of
k8s.io/api/core/v1.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from policies.language.manifest import at, items, mapping
from rehearsal.api import Api
from rehearsal.nodes import NODES
from settings.names import POOL_LABEL

# that the controller of DaemonSets gives to every pod: Kubernetes' pkg/controller/daemon/util
_OF_DAEMONS = (
    *("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"),
    *("node.kubernetes.io/disk-pressure", "node.kubernetes.io/memory-pressure"),
    *("node.kubernetes.io/pid-pressure", "node.kubernetes.io/unschedulable"),
    "node.kubernetes.io/network-unavailable",
)


@dataclass(frozen=True, kw_only=True)
class Place:
    """A Ready node, and the pool that it is of."""

    name: str
    pool: str
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...]
    allocatable: Mapping[str, str]


def places(api: Api) -> list[Place]:
    """The Ready nodes of the cluster."""
    return [
        Place(
            name=node["metadata"]["name"],
            pool=node["metadata"]["labels"].get(POOL_LABEL, ""),
            labels=node["metadata"]["labels"],
            taints=tuple(node["spec"].get("taints") or ()),
            allocatable=node["status"].get("allocatable") or {},
        )
        for node in api.items(NODES)
        if any(
            each["type"] == "Ready" and each["status"] == "True"
            for each in node["status"].get("conditions") or []
        )
    ]


def may_run(spec: Mapping[str, Any], node: Place, *, daemon: bool = False) -> bool:
    """Whether pods of this spec may be put on a node that has room for them."""
    selector = mapping(spec.get("nodeSelector"))
    if any(node.labels.get(key) != value for key, value in selector.items()):
        return False
    way = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    terms = items(at(spec, *way, "nodeSelectorTerms"))
    if terms and not any(_term(term, node) for term in terms):
        return False
    tolerations = [mapping(each) for each in items(spec.get("tolerations"))]
    return all(
        any(_tolerates(each, taint) for each in tolerations)
        for taint in node.taints
        if taint.get("effect") in ("NoSchedule", "NoExecute")
        and not (daemon and taint.get("key") in _OF_DAEMONS)
    )


def _term(term: object, node: Place) -> bool:
    labels = [mapping(each) for each in items(at(term, "matchExpressions"))]
    fields = [mapping(each) for each in items(at(term, "matchFields"))]
    if not labels and not fields:
        return False
    return all(_holds(each, node.labels) for each in labels) and all(
        _holds(each, {"metadata.name": node.name}) for each in fields
    )


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value = labels.get(str(expression.get("key")))
    values = list(map(str, items(expression.get("values"))))
    number = int(value) if value is not None and value.isdecimal() else None
    answers = {
        "In": value in values,
        "NotIn": value not in values,
        "Exists": value is not None,
        "DoesNotExist": value is None,
        "Gt": number is not None and bool(values) and number > int(values[0]),
        "Lt": number is not None and bool(values) and number < int(values[0]),
    }
    return answers.get(str(expression.get("operator")), False)


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, str]) -> bool:
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    if not toleration.get("key"):
        return toleration.get("operator") == "Exists"
    if toleration.get("key") != taint.get("key"):
        return False
    same = str(toleration.get("value") or "") == str(taint.get("value") or "")
    return toleration.get("operator") == "Exists" or same
