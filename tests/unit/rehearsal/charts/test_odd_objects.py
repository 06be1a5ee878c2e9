"""What a chart has that is no object of Kubernetes is said of the chart, and ends nothing."""

import copy
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from rehearsal.api import Api
from rehearsal.charts.rehearse import Equipment, rehearse
from rehearsal.charts.results import RenderedChart
from rehearsal.charts.wanted import Found, Wanted
from rehearsal.providers.cloud import CloudObject
from settings.names import POOL_LABEL, RELEASE
from tests.unit.rehearsal.charts.test_render import helm

NODE = {
    "metadata": {"name": "cpu-1", "labels": {POOL_LABEL: "cpu"}},
    "spec": {},
    "status": {
        "conditions": [{"type": "Ready", "status": "True"}],
        "allocatable": {"cpu": "8", "memory": "30Gi"},
    },
}
KINDS = {
    "v1": {"ConfigMap": "configmaps", "Pod": "pods", "Service": "services"},
    "apps/v1": {"Deployment": "deployments"},
    "rbac.authorization.k8s.io/v1": {"ClusterRole": "clusterroles"},
}
TEMPLATE = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {
        "priorityClassName": "high",
        "nodeSelector": {"a": "b"},
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "initContainers": [{"name": "i", "image": "i:1", "restartPolicy": "Always"}],
        "containers": [{"name": "c", "image": "c:1", "resources": {"requests": {"cpu": "1"}}}],
    },
}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "d", "namespace": "n", "labels": {"a": "b"}, "annotations": {"a": "b"}},
    "spec": {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE},
}
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.a.example"},
    "spec": {
        "group": "a.example",
        "scope": "Namespaced",
        "names": {"kind": "Thing", "plural": "things"},
        "versions": [{"name": "v1", "served": True}],
        "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {"service": {}}}},
    },
}
WEBHOOK = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "w"},
    "webhooks": [
        {
            "name": "all.a.example",
            "clientConfig": {"service": {"namespace": "n", "name": "s"}},
            "rules": [{"operations": ["*"], "apiGroups": ["*"], "resources": ["*/*"]}],
        }
    ],
}
OTHERS = (
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "own", "labels": {"a": "b"}}},
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}},
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}},
    {"apiVersion": "v1", "kind": "ConfigMapList", "items": [{"metadata": {}}, {}]},
    {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{}]}},
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "r"},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["*"]}],
    },
    {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": "v1.a"},
        "spec": {"group": "a", "version": "v1", "service": {"namespace": "n", "name": "s"}},
    },
)
ODD: tuple[Any, ...] = (None, 7, 1e21, True, "", "many", "evil\x1b[31m", [], [1, "a"], {}, {"a": 1})


def answer(request: httpx.Request) -> httpx.Response:
    path = request.url.path
    if path == "/version":
        return httpx.Response(200, json={"gitVersion": "v1.36.3"})
    if path == "/api/v1/nodes":
        return httpx.Response(200, json={"items": [NODE]})
    if path in ("/api", "/apis"):
        return httpx.Response(200, json={"items": []})
    for version, kinds in KINDS.items():
        if path in (f"/api/{version}", f"/apis/{version}"):
            served = [{"kind": k, "name": n, "namespaced": True} for k, n in kinds.items()]
            return httpx.Response(200, json={"resources": served})
    if request.method == "GET":
        return httpx.Response(404, json={})
    told = "errors:\n  .spec.size: wrong" if "refused" in path else "no such kind"
    code = 422 if "refused" in path or "/apis/apiext" in path else 200
    return httpx.Response(code, json={"reason": "Invalid", "message": told})


def rehearsed(folder: Path, answers: Mapping[str, Any]) -> RenderedChart:
    """What becomes of a chart whose rendering is given."""
    api = Api(httpx.Client(base_url="https://cluster", transport=httpx.MockTransport(answer)))
    equipment = Equipment(
        api=api, helm=helm(folder, answers), toolchain=folder, store=folder, folder=folder
    )
    release = CloudObject(
        provider="kubernetes",
        type=RELEASE,
        id="odd",
        name="odd",
        inputs={"name": "odd", "namespace": "n", "chart": "odd", "version": "1.0.0"},
        outputs={},
    )
    found = {Wanted.of(release.inputs): Found(path=folder, source="here")}
    (chart,) = rehearse(equipment, [release], dict(found), ()).rendered
    return chart


def refused(folder: Path, *objects: object) -> tuple[str, ...]:
    parts = [{"source": "odd/templates/a.yaml", "object": each} for each in objects]
    return rehearsed(folder, {"chart": {"name": "odd"}, "objects": parts}).refused


def config(name: object) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


@pytest.mark.parametrize(
    ("odd", "told"),
    [
        (config("evil\x1b[31m"), 'metadata.name is "evil\\u001b[31m"; allowed: 1 to 253 printable'),
        (config("a" * 70_000), f'metadata.name is "{"a" * 59}…; allowed: 1 to 253'),
        (config("../secrets"), 'metadata.name is "../secrets"; allowed: 1 to 253'),
        (config(None), "ConfigMap has no metadata.name, without which Helm cannot install it."),
        ({**config("a"), "apiVersion": 1}, "apiVersion is 1; allowed: "),
        ({**config("a"), "metadata": []}, "metadata is []; allowed: a mapping with a name."),
        ({"kind": "ConfigMapList", "items": [1]}, "1 stands where an object must be"),
        ({key: CRD[key] for key in ("apiVersion", "kind", "spec")}, "metadata is null; allowed: "),
    ],
)
def test_what_cannot_be_sent_is_a_refusal_with_its_template(
    tmp_path: Path, odd: object, told: str
) -> None:
    (sentence,) = refused(tmp_path, odd, config("sound"))
    assert sentence.startswith(f"odd/templates/a.yaml: {told}")


@pytest.mark.parametrize("spec", ["hi", {"conversion": "x"}, {"versions": [1]}, {"names": "x"}])
def test_a_definition_of_another_form_is_left_to_the_api_server(tmp_path: Path, spec: Any) -> None:
    (sentence,) = refused(tmp_path, {**CRD, "spec": spec})
    assert sentence == "CustomResourceDefinition things.a.example: no such kind"


def test_what_the_api_server_says_in_lines_is_one_line(tmp_path: Path) -> None:
    (sentence,) = refused(tmp_path, config("refused"))
    assert sentence == "ConfigMap refused: errors: .spec.size: wrong"


def test_a_name_that_is_no_word_of_an_address_is_asked_for_as_it_is(tmp_path: Path) -> None:
    assert refused(tmp_path, config("a b?c#refused"))


def test_two_objects_of_one_kind_and_name_are_refused_whatever_their_version(
    tmp_path: Path,
) -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role"}
    other = {"apiVersion": "other.example/v1", "kind": "Role", "metadata": {"name": "a"}}
    roles = [{**role, "metadata": {"name": "a", "namespace": name}} for name in ("n", "n", "m")]
    found = refused(tmp_path, config("a"), config("b"), *roles, other)
    (told,) = [each for each in found if "times" in each]
    assert told == (
        "Role n/a is in the chart 2 times (odd/templates/a.yaml): Helm 3 is refused the second, "
        "Helm 4 writes it over the first."
    )


def every_place(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    parts = value.items() if isinstance(value, dict) else ()
    for key, inner in [*parts, *(enumerate(value) if isinstance(value, list) else ())]:
        yield from every_place(inner, (*path, key))


def with_odd(whole: Any, path: tuple[Any, ...], odd: Any) -> Any:
    if not path:
        return odd
    found = copy.deepcopy(whole)
    at = found
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = odd
    return found


def test_no_value_at_any_place_of_an_object_ends_a_rehearsal(tmp_path: Path) -> None:
    altered = [
        with_odd(each, path, odd)
        for each in (DEPLOYMENT, CRD, WEBHOOK, *OTHERS)
        for path in every_place(each)
        if path
        for odd in ODD
    ]
    parts = [{"source": "odd/templates/a.yaml", "object": each} for each in altered]
    hooks = [{**each, "events": ["pre-install"], "weight": 0, "delete_policies": []}
             for each in parts[::7]]  # fmt: skip
    whole = {"chart": {"name": "odd"}, "objects": parts, "crds": parts, "hooks": hooks}

    found = rehearsed(tmp_path, json.loads(json.dumps(whole)))

    assert len(found.refused) > 100
