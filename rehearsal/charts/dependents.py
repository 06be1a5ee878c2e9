"""What waits for a chart's pods: webhooks, APIServices, conversions between versions."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from policies.language.manifest import at, items, mapping
from rehearsal.api import Api

_WEBHOOKS = {
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
}
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"


@dataclass(frozen=True, kw_only=True)
class Dependent:
    """Something of the API server that asks a pod of the chart."""

    kind: str
    """Of its object: MutatingWebhookConfiguration, APIService, CustomResourceDefinition, …"""
    name: str
    failure_policy: str
    """Fail or Ignore for a webhook; what has no such field always fails."""
    covers: str
    """The requests that wait for it, in words."""
    service: str
    everything: bool = False
    """Whether it covers every kind, its own pods too."""
    in_force: bool = False
    """Whether the twin has it: its backend runs here."""

    @property
    def blocks(self) -> bool:
        """Whether the requests that it covers fail while its pods are down."""
        return self.failure_policy != "Ignore"

    @property
    def sentence(self) -> str:
        """What happens while its pods are down."""
        what = "every request" if self.everything else self.covers
        how = "is refused" if self.blocks else "passes unseen"
        here = "; runs in the twin" if self.in_force else ""
        return (
            f"{self.kind} {self.name} ({self.failure_policy}): {what} {how} while {self.service} "
            f"has no pod{here}."
        )


def dependents(
    objects: Iterable[Mapping[str, Any]],
    api: Api | None = None,
    without_namespace: Collection[tuple[str, str]] = (),
) -> list[Dependent]:
    """What of these objects asks a pod; `api` tells which of them the twin has.

    `without_namespace` are the kinds, by group and plural, that no selector of namespaces exempts.
    """
    return [found for each in objects for found in _of(each, api, without_namespace)]


def _of(
    object_: Mapping[str, Any], api: Api | None, without_namespace: Collection[tuple[str, str]]
) -> Iterator[Dependent]:
    kind, name = str(object_.get("kind")), str(at(object_, "metadata", "name"))
    if kind in _WEBHOOKS:
        there = bool(api and api.get(f"{_ADMISSION}/{_WEBHOOKS[kind]}/{name}"))
        for webhook in items(object_.get("webhooks")):
            yield _webhook(kind, mapping(webhook), without_namespace, in_force=there)
    elif kind == "APIService" and at(object_, "spec", "service"):
        group, version = (at(object_, "spec", key) for key in ("group", "version"))
        yield Dependent(
            kind=kind,
            name=name,
            failure_policy="Fail",
            covers=f"every request for {group}/{version}",
            service=_service(at(object_, "spec", "service")),
        )
    elif at(object_, "spec", "conversion", "strategy") == "Webhook":
        service = at(object_, "spec", "conversion", "webhook", "clientConfig", "service")
        yield Dependent(
            kind=kind,
            name=name,
            failure_policy="Fail",
            covers=f"every {at(object_, 'spec', 'names', 'kind')} of another version",
            service=_service(service) if service else "its address",
        )


def _webhook(
    kind: str,
    webhook: Mapping[str, Any],
    without_namespace: Collection[tuple[str, str]],
    *,
    in_force: bool,
) -> Dependent:
    rules = [mapping(rule) for rule in items(webhook.get("rules"))]
    service = at(webhook, "clientConfig", "service")
    selected = [
        which
        for which in ("namespaceSelector", "objectSelector", "matchConditions")
        if webhook.get(which)
    ]
    return Dependent(
        kind=kind,
        name=str(webhook.get("name")),
        failure_policy=str(webhook.get("failurePolicy") or "Fail"),
        covers=_covers(rules, selected, without_namespace),
        service=_service(service) if service else str(at(webhook, "clientConfig", "url")),
        everything=not selected and any(map(_is_all, rules)),
        in_force=in_force,
    )


def _covers(
    rules: Iterable[Mapping[str, Any]],
    selected: list[str],
    without_namespace: Collection[tuple[str, str]],
) -> str:
    """The requests of a webhook's rules in words, with what bounds them.

    A selector of namespaces bounds no request that is in none, other than for Namespaces
    (k8s.io/apiserver v0.36.3, pkg/admission/plugin/webhook/predicates/namespace/matcher.go).
    """
    bounded: dict[str, list[str]] = {}
    for rule in rules:
        parts: dict[str, list[str]] = {}
        for resource in map(str, items(rule.get("resources"))):
            free = _is_in_no_namespace(rule, resource, without_namespace)
            by = [each for each in selected if not free or each != "namespaceSelector"]
            parts.setdefault(_where(by), []).append(resource)
        verbs = "/".join(map(str, items(rule.get("operations"))))
        for where, resources in parts.items():
            bounded.setdefault(where, []).append(f"{verbs} of {', '.join(resources)}")
    return ", ".join(f"{', '.join(dict.fromkeys(found))}{by}" for by, found in bounded.items())


def _is_in_no_namespace(
    rule: Mapping[str, Any], resource: str, without_namespace: Collection[tuple[str, str]]
) -> bool:
    plural = resource.partition("/")[0]
    groups = [str(group) for group in items(rule.get("apiGroups"))]
    if plural == "namespaces":
        return False
    return rule.get("scope") == "Cluster" or any(
        (group, plural) in without_namespace for group in groups
    )


def _where(selected: list[str]) -> str:
    return f" (where its {' and '.join(selected)} says)" if selected else ""


def _is_all(rule: Mapping[str, Any]) -> bool:
    resources = set(map(str, items(rule.get("resources"))))
    return "*" in items(rule.get("apiGroups")) and bool(resources & {"*", "*/*"})


def _service(service: object) -> str:
    return f"Service {at(service, 'namespace')}/{at(service, 'name')}"
