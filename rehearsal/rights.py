"""Which rights of a controller it has used, which it never uses, and which it lacks.

The API server logs what ServiceAccounts ask for (who, what, whether it was allowed), except those
of Kubernetes' own controllers. A right is one verb on one kind, in all namespaces or in one.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any

import yaml

from rehearsal.api import Api

RBAC = "/apis/rbac.authorization.k8s.io/v1"
LOG = "audit.log"
SYSTEM = "system:serviceaccounts:kube-system"
OURS_IN_SYSTEM = ("system:serviceaccount:kube-system:karpenter",)
ANY = "*"
DECISION = "authorization.k8s.io/decision"
"""What RBAC said; an admission rule may still refuse what it allows."""
CANNOT_CREATE = "cannot create resource"
"""In the answer to a request that would create, where its user may not."""


def write_policy(directory: Path) -> tuple[str, ...]:
    """Write the policy of the audit log; return the arguments of the API server."""
    path = directory / "audit-policy.yaml"
    policy = {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],  # a watch is answered when it starts, and ends late
        "rules": [
            {"level": "Metadata", "users": list(OURS_IN_SYSTEM)},
            {"level": "None", "userGroups": [SYSTEM]},
            {"level": "Metadata", "userGroups": ["system:serviceaccounts"]},
            {"level": "None"},
        ],
    }
    path.write_text(yaml.safe_dump(policy, sort_keys=False))
    return (f"--audit-policy-file={path}", f"--audit-log-path={directory / LOG}")


@dataclass(frozen=True, kw_only=True, order=True)
class Right:
    """One verb on one kind (`pods`, `pods/binding`); `namespace` is empty for all of them.

    `names` are the objects to which alone it applies, none for all.
    """

    group: str
    resource: str
    verb: str
    namespace: str = ""
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        kind, _, part = self.resource.partition("/")
        of_group = f".{self.group}" if self.group else ""
        where = f" in {self.namespace}" if self.namespace else ""
        which = f" {', '.join(self.names)}" if self.names else ""
        return f"{self.verb} {kind}{of_group}{f'/{part}' if part else ''}{which}{where}"

    def allows(self, asked: "Right") -> bool:
        """Return whether it is the right to do what was asked, which has one name or none.

        As RBAC does (k8s.io/kubernetes v1.36.3, pkg/apis/rbac/v1/evaluation_helpers.go): `*/scale`
        is that part of any kind, and a right to some objects allows no request without a name.
        """
        _, _, part = asked.resource.partition("/")
        resources = (ANY, asked.resource, *((f"{ANY}/{part}",) if part else ()))
        return (
            self.verb in (ANY, asked.verb)
            and self.group in (ANY, asked.group)
            and self.resource in resources
            and self.namespace in ("", asked.namespace)
            and (not self.names or (bool(asked.names) and {*asked.names} <= {*self.names}))
        )


@dataclass(frozen=True, kw_only=True)
class Use:
    """What a controller has of rights."""

    granted: tuple[Right, ...]
    used: tuple[Right, ...]
    missing: tuple[Right, ...]
    """What it asked for and was refused."""

    @property
    def never_used(self) -> tuple[Right, ...]:
        """The rights without which it would have done the same here."""
        return tuple(sorted(set(self.granted) - set(self.used)))


def uses(api: Api, directory: Path, users: Collection[str]) -> dict[str, Use]:
    """Return what the log says of each user; what it was told last of a right counts."""
    asked: dict[str, dict[Right, bool]] = {user: {} for user in users}
    for user, right, allowed in _log(directory):
        if user in asked:
            asked[user][right] = allowed
    bound = {user: granted(api, user) for user in users}
    return {user: _use(bound[user], asked[user]) for user in users}


def _use(rights: Sequence[Right], asked: Mapping[Right, bool]) -> Use:
    allowed = [right for right, given in asked.items() if given]
    refused = {
        Right(group=each.group, resource=each.resource, verb=each.verb, namespace=each.namespace)
        for each, given in asked.items()
        if not given
    }
    return Use(
        granted=tuple(rights),
        used=tuple(right for right in rights if any(map(right.allows, allowed))),
        missing=tuple(sorted(refused)),
    )


def _log(directory: Path) -> Iterator[tuple[str, Right, bool]]:
    for path in sorted(directory.glob(f"{Path(LOG).stem}*.log")):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                event = _event(line)
                decision = (event.get("annotations") or {}).get(DECISION)
                if decision and (asked := _asked(event)):
                    user = event["user"]["username"]
                    yield user, asked, decision == "allow"
                    created = _created_within(event)
                    if decision == "allow" and created is not None:
                        yield user, replace(asked, verb="create"), created


def _created_within(event: Mapping[str, Any]) -> bool | None:
    """Return whether a patch or an update also created, or was not allowed to; None for neither.

    The API server asks for `create`, of this name, inside such a request once it finds nothing to
    change (k8s.io/apiserver v0.36.3, pkg/endpoints/handlers/patch.go and update.go); the log has
    the verb of the request and its answer alone.
    """
    if event["verb"] not in ("patch", "update"):
        return None
    status = event.get("responseStatus") or {}
    if status.get("code") == HTTPStatus.CREATED:
        return True
    refused = status.get("code") == HTTPStatus.FORBIDDEN
    return False if refused and CANNOT_CREATE in str(status.get("message")) else None


def _event(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:  # the last line, while it is written
        return {}
    return found if isinstance(found, dict) else {}


def _asked(event: Mapping[str, Any]) -> Right | None:
    """Return the right that a request needs; None for one that is about no kind."""
    about = event.get("objectRef")
    if not about:
        return None
    part = f"/{about['subresource']}" if about.get("subresource") else ""
    # the log has the name of a new object from its body, which RBAC does not see
    # (WithAudit's LogRequestObject in k8s.io/apiserver v0.36.3, pkg/audit/request.go)
    name = "" if event["verb"] == "create" and not part else about.get("name", "")
    return Right(
        group=about.get("apiGroup", ""),
        resource=f"{about['resource']}{part}",
        verb=event["verb"],
        namespace=about.get("namespace", ""),
        names=(name,) if name else (),
    )


def granted(api: Api, user: str) -> tuple[Right, ...]:
    """Return the rights that bindings of the user's own give him, not those of everybody."""
    roles = {
        (kind, item["metadata"].get("namespace", ""), item["metadata"]["name"]): item
        for kind, path in (("ClusterRole", "clusterroles"), ("Role", "roles"))
        for item in api.items(f"{RBAC}/{path}")
    }
    found: set[Right] = set()
    for path in ("clusterrolebindings", "rolebindings"):
        for binding in api.items(f"{RBAC}/{path}"):
            if any(_is(subject, user, binding) for subject in binding.get("subjects") or ()):
                space = binding["metadata"].get("namespace", "")
                kind, name = binding["roleRef"]["kind"], binding["roleRef"]["name"]
                role = roles.get((kind, space if kind == "Role" else "", name)) or {}
                found.update(_rights(role.get("rules") or (), space))
    return tuple(sorted(found))


def _is(subject: Mapping[str, str], user: str, binding: Mapping[str, Any]) -> bool:
    if subject["kind"] != "ServiceAccount":
        return subject["kind"] == "User" and subject["name"] == user
    space = subject.get("namespace") or binding["metadata"].get("namespace", "")
    return user == f"system:serviceaccount:{space}:{subject['name']}"


def _rights(rules: Sequence[Mapping[str, Any]], namespace: str) -> Iterator[Right]:
    for rule in rules:
        for group in rule.get("apiGroups") or ():
            for resource in rule.get("resources") or ():
                for verb in rule.get("verbs") or ():
                    yield Right(
                        group=group,
                        resource=resource,
                        verb=verb,
                        namespace=namespace,
                        names=tuple(sorted(rule.get("resourceNames") or ())),
                    )
