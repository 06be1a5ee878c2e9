"""Judges a cluster: what stands on top is told, with what its pods hold of the GPUs.

What an object of the cluster made is judged, too, as a webhook or a forged owner may have made
something else of it; what that alone breaks is told once of the object on top. Not of ReplicaSets,
which a Deployment keeps as they were, and PodGroups: their pods show what they are.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from fleet.audit.cluster import Cluster
from fleet.audit.holding import Held, held
from fleet.audit.owners import believed, tops
from fleet.check.judging import Checked, check
from policies.configuration import ConfiguredRule
from policies.language.manifest import at
from policies.language.pods import remembered
from policies.language.rule import Manifest
from policies.verdicts import Finding, Resource, as_json, verdicts
from settings.names import TEAM_LABEL


@dataclass(frozen=True, kw_only=True)
class Stake:
    """What the pods of some objects hold; USD at the prices that are known."""

    objects: int
    gpus: float
    gpu_hours: float
    usd: float
    usd_per_hour: float


@dataclass(frozen=True, kw_only=True)
class NamespaceStake(Stake):
    """What breaks a mandatory rule in a namespace; none of its GPUs may be held by that."""

    namespace: str
    team: str
    gpus_in_use: float


@dataclass(frozen=True, kw_only=True)
class RuleStake(Stake):
    """What breaks a rule, or would if the rule were mandatory."""

    rule: str
    level: str
    example: str


@dataclass(frozen=True, kw_only=True)
class Audited:
    """The result: what `fleet check` says, and the stakes."""

    checked: Checked
    pods: int
    kinds: int
    forbidden: Mapping[str, str]
    """Kinds that the access does not allow to list, each with the API server's reason."""
    by_namespace: tuple[NamespaceStake, ...]
    by_rule: tuple[RuleStake, ...]
    broken: Stake
    """Of what breaks a mandatory rule."""
    gpus_in_use: float
    without_price: tuple[str, ...]
    """Hardware of which no price is known; its GPUs count, and cost nothing."""
    not_verified: tuple[str, ...]
    """Hardware of which nobody has verified the price."""

    def as_json(self) -> dict[str, Any]:
        """The same as plain data; what is in `fleet check --json` is in the same place."""
        plain = as_json(self)
        del plain["checked"]
        return {**plain, **self.checked.as_json()}


def audit(
    environment: str,
    rules: Sequence[ConfiguredRule],
    cluster: Cluster,
    now: datetime,
    *,
    strict: bool = False,
) -> Audited:
    """Judge a cluster as it is `now`."""
    objects = cluster.read.objects
    manifests = [each.manifest for each in objects]
    with remembered():
        on_top = tops(manifests)
    judged = [
        replace(each, manifest=believed(each.manifest, is_owned=on_top[position] != position))
        for position, each in enumerate(objects)
    ]
    read = replace(cluster.read, objects=judged)
    checked = check(environment, rules, read, now.date(), strict=strict)
    number = {each.resource: position for position, each in enumerate(objects)}
    of = _Owned(on_top=on_top, resources=[each.resource for each in objects], number=number)
    nodes = {str(at(each, "metadata", "name")): each for each in manifests if _is(each, "Node")}
    holding = {
        position: found
        for position, each in enumerate(manifests)
        if _is(each, "Pod") and (found := held(each, nodes, now)) is not None
    }
    told = replace(
        checked,
        objects=sum(number == top for number, top in enumerate(on_top)),
        verdicts=tuple(
            each for each in verdicts(rules, of.told(checked.findings)) if each.findings
        ),
        unjudged=tuple(each for each in checked.unjudged if of.is_top(each.resource)),
    )
    return _with_stakes(told, cluster, of, holding)


def _is(manifest: Manifest, kind: str) -> bool:
    return manifest.get("kind") == kind and manifest.get("apiVersion") == "v1"


_SHOWN_BY_PODS = ("PodGroup", "ReplicaSet")


@dataclass(frozen=True, kw_only=True)
class _Owned:
    on_top: Sequence[int]
    resources: Sequence[Resource]
    number: Mapping[Resource, int]

    def is_top(self, resource: Resource) -> bool:
        number = self.number[resource]
        return self.on_top[number] == number

    def top(self, resource: Resource) -> Resource:
        return self.resources[self.on_top[self.number[resource]]]

    def told(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Yield the findings of what is on top, and once what only objects that it made break."""
        found = tuple(findings)
        own = {(each.rule, each.resource) for each in found if self._is_told(each)}
        alone: dict[tuple[str, Resource], list[Finding]] = {}
        for each in found:
            if self._is_told(each) or each.resource is None:
                yield each
            elif each.resource.kind not in _SHOWN_BY_PODS:
                top = self.top(each.resource)
                if (each.rule, top) not in own:
                    alone.setdefault((each.rule, top), []).append(each)
        for (_, top), of_made in alone.items():
            first, rest = of_made[0], {each.resource for each in of_made if each.resource}
            noun = "pods" if all(each.kind == "Pod" for each in rest) else "objects"
            more = len(rest) - 1
            also = f" The same holds for {more} more of its {noun}." if more else ""
            sentences = (*first.sentences[:-1], f"{first.sentences[-1]}{also}")
            yield replace(first, resource=top, sentences=sentences)

    def _is_told(self, finding: Finding) -> bool:
        return finding.resource is None or self.is_top(finding.resource)


def _with_stakes(
    checked: Checked, cluster: Cluster, of: _Owned, holding: Mapping[int, Held]
) -> Audited:
    by_top: dict[Resource, list[Held]] = {}
    for number, each in holding.items():
        by_top.setdefault(of.resources[of.on_top[number]], []).append(each)
    broken = _broken(checked.findings, "violated")
    priced = [each for each in holding.values() if each.usd_per_hour is not None]
    return Audited(
        checked=checked,
        pods=sum(_is(each.manifest, "Pod") for each in cluster.read.objects),
        kinds=cluster.kinds,
        forbidden=cluster.forbidden,
        by_namespace=tuple(_by_namespace(broken, by_top, cluster)),
        by_rule=tuple(_by_rule(checked, by_top)),
        broken=Stake(**_sums(broken, by_top)),
        gpus_in_use=round(sum(each.gpus for each in holding.values()), 3),
        without_price=tuple(
            sorted({each.hardware for each in holding.values() if each.usd_per_hour is None})
        ),
        not_verified=tuple(sorted({each.hardware for each in priced if not each.is_verified})),
    )


def _broken(findings: Iterable[Finding], *states: str) -> set[Resource]:
    return {each.resource for each in findings if each.resource and each.state in states}


def _sums(broken: set[Resource], by_top: Mapping[Resource, Sequence[Held]]) -> dict[str, Any]:
    found = [one for each in broken for one in by_top.get(each, ())]
    return {
        "objects": len(broken),
        "gpus": round(sum(each.gpus for each in found), 3),
        "gpu_hours": round(sum(each.gpu_hours for each in found), 2),
        "usd": round(sum(each.usd for each in found), 2),
        "usd_per_hour": round(sum(each.usd_per_hour or 0 for each in found), 2),
    }


def _by_namespace(
    broken: set[Resource], by_top: Mapping[Resource, Sequence[Held]], cluster: Cluster
) -> Iterator[NamespaceStake]:
    teams: dict[str, str] = {}
    spaces: dict[Resource, str] = {}
    for each in cluster.read.objects:
        metadata = each.manifest["metadata"]
        spaces[each.resource] = str(at(metadata, "namespace") or "")
        if _is(each.manifest, "Namespace"):
            spaces[each.resource] = each.resource.name
            teams[each.resource.name] = str(at(metadata, "labels", TEAM_LABEL) or "")
    for space in sorted({spaces[each] for each in (*broken, *by_top)}):
        mine = [one for each, found in by_top.items() if spaces[each] == space for one in found]
        yield NamespaceStake(
            namespace=space,
            team=teams.get(space, ""),
            gpus_in_use=round(sum(each.gpus for each in mine), 3),
            **_sums({each for each in broken if spaces[each] == space}, by_top),
        )


def _by_rule(checked: Checked, by_top: Mapping[Resource, Sequence[Held]]) -> Iterator[RuleStake]:
    for verdict in checked.verdicts:
        broken = _broken(verdict.findings, "violated", "advisory")
        if broken:
            yield RuleStake(
                rule=verdict.rule,
                level=verdict.level,
                example=verdict.findings[0].sentences[0],
                **_sums(broken, by_top),
            )
