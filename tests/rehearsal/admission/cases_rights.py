"""Objects by which somebody takes what is the system's or others': `(rule, what, object)`."""

from collections.abc import Iterator
from itertools import chain

from tests.rehearsal.admission.cases_isolation import role
from tests.support.admission.objects import Object

Row = tuple[str, str, Object]
RBAC = "isolation/rbac-wildcards"
BOOTSTRAP = "kubernetes.io/bootstrapping"
OF_VIEWERS = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}


def _takes_in(labels: dict[str, str] | None = None, *expressions: Object) -> Object:
    said = {"matchLabels": labels or {}, "matchExpressions": list(expressions)}
    selector = {key: value for key, value in said.items() if value}
    return role("ClusterRole", aggregationRule={"clusterRoleSelectors": [selector]}, rules=[])


def _has(key: str, operator: str, *values: str) -> Object:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


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


def bad() -> Iterator[Row]:
    """Objects that break their rule."""
    yield from chain(_all_roles())


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
