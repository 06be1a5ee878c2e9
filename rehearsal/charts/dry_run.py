"""What the twin's API server says of a chart's objects, under the environment's own admission.

A chart's namespaces and CRDs are made, as its installation would make them first; everything else
is sent as a dry run. Of each workload one pod is sent, too: admission judges pods, and no pod of a
chart is ever made here.
"""

from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from policies.language.manifest import at
from rehearsal.api import Api
from rehearsal.charts.ownership import Owner, title
from rehearsal.charts.render import Rendering
from rehearsal.charts.workloads import pod_of
from rehearsal.errors import RefusedError
from rehearsal.providers.kubernetes.readiness import (
    CRD_PATH,
    Discovery,
    in_path,
    until_established,
)

MANAGER = "helm"
AT_ONCE = 8
ESTABLISHED_WITHIN_S = 60.0
MADE = ("Namespace", "CustomResourceDefinition")


def prepare(api: Api, rendering: Rendering, owner: Owner) -> Iterator[str]:
    """Makes a chart's namespaces and CRDs; yields a sentence for each that is refused."""
    kinds, names = Discovery(api), []
    for namespace in rendering.of_kind("Namespace"):
        path = f"/api/v1/namespaces/{in_path(_name(namespace))}"
        if (there := api.get(path)) is None or owner.owns(there):
            yield from _sent(api, path, owner.marked(namespace), dry=False)
    for definition in rendering.all_crds:
        path = f"{CRD_PATH}/{in_path(_name(definition))}"
        refused = list(_sent(api, path, _without_webhook(definition), dry=False))
        yield from refused
        if not refused:
            names.append(_name(definition))
    for name in names:
        try:
            until_established(api, kinds, name, limit_s=ESTABLISHED_WITHIN_S)
        except RefusedError as error:
            yield str(error)


def refusals(api: Api, rendering: Rendering) -> list[str]:
    """A sentence for each object, and each workload's pod, that the API server would refuse."""
    objects = [each.object for each in (*rendering.objects, *rendering.hooks)]
    asked = [(title(each), each) for each in objects if each.get("kind") not in MADE]
    pods = [(f"a pod of {name}", pod) for name, each in asked if (pod := pod_of(each))]
    ask = partial(_refused, api, Discovery(api), _chart_priorities(objects))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [sentence for found in pool.map(ask, [*asked, *pods]) for sentence in found]


def _refused(
    api: Api, kinds: Discovery, priorities: Collection[str], asked: tuple[str, dict[str, Any]]
) -> list[str]:
    named, object_ = asked
    kind = kinds.find(str(object_.get("apiVersion")), str(object_.get("kind")))
    if kind is None:
        version = object_.get("apiVersion")
        return [f"{named}: the API server serves no {object_.get('kind')} of {version}."]
    metadata = object_["metadata"]
    body = _as_it_stands_alone(object_, priorities) if kind.kind == "Pod" else object_
    path = kind.path(metadata.get("namespace"), metadata["name"])
    return list(_sent(api, path, body, named, dry=True))


def _as_it_stands_alone(pod: dict[str, Any], priorities: Collection[str]) -> dict[str, Any]:
    """A pod with an account that exists, and no class of priority that the chart brings."""
    spec = {**pod["spec"], "serviceAccountName": "default"}
    spec.pop("serviceAccount", None)
    if str(spec.get("priorityClassName")) in priorities:
        del spec["priorityClassName"]
    return {**pod, "spec": spec}


def _chart_priorities(objects: Iterable[dict[str, Any]]) -> list[str]:
    return [_name(each) for each in objects if each.get("kind") == "PriorityClass"]


def _sent(
    api: Api, path: str, body: dict[str, Any], named: str = "", *, dry: bool
) -> Iterator[str]:
    try:
        api.apply(path, body, manager=MANAGER, force=True, dry_run=dry)
    except RefusedError as error:
        yield f"{named or title(body)}: {' '.join(str(error).split())}"


def _without_webhook(definition: dict[str, Any]) -> dict[str, Any]:
    """A CRD whose objects the API server converts without asking a pod that does not run here."""
    if at(definition, "spec", "conversion", "strategy") != "Webhook":
        return definition
    return {**definition, "spec": {**definition["spec"], "conversion": {"strategy": "None"}}}


def _name(object_: dict[str, Any]) -> str:
    return str((object_.get("metadata") or {}).get("name", ""))
