"""A small chart of ours, from a repository, a registry and a folder, at a real API server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rehearsal.api import Api
from rehearsal.charts.rehearse import Kitchen
from rehearsal.charts.results import RenderedChart
from rehearsal.providers.cloud import CloudObject
from tests.rehearsal.charts.conftest import release, rendered
from tests.support.rehearsal.chart_store import (
    CHART,
    NAME,
    VERSION,
    ChartStore,
    on,
    packed,
    serving,
)

CRD = """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.ours.fleet.example}
spec:
  group: ours.fleet.example
  scope: Namespaced
  names: {kind: Thing, plural: things}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties: {spec: {type: object, properties: {size: {type: integer}}}}
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: {service: {namespace: default, name: ours}}
"""
THING = """{{- if .Capabilities.APIVersions.Has "ours.fleet.example/v1/Thing" }}
apiVersion: ours.fleet.example/v1
kind: Thing
metadata: {name: {{ .Release.Name }}}
spec: {size: {{ .Values.size }}}
{{- end }}
"""
OWN_SPACE = """apiVersion: v1
kind: Namespace
metadata: {name: ours-own}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: inside, namespace: ours-own}
data: {version: {{ .Capabilities.KubeVersion.Version | quote }}}
"""
SECRET = """apiVersion: v1
kind: Secret
metadata: {name: keys}
data:
  ca: {{ (genCA "ours" 1).Cert | b64enc }}
  found: {{ (lookup "v1" "Secret" .Release.Namespace "keys") | toJson | b64enc }}
"""
WEBHOOK = """apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: ours}
webhooks:
  - name: all.ours.fleet.example
    admissionReviewVersions: [v1]
    sideEffects: None
    clientConfig: {service: {namespace: default, name: ours}}
    rules: [{operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"]}]
"""
HOOK = """apiVersion: batch/v1
kind: Job
metadata: {name: before, annotations: {helm.sh/hook: pre-install}}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: c, image: "a.example/hook:1"}]}
"""
PODS = """apiVersion: apps/v1
kind: Deployment
metadata: {name: pods}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      containers:
        - name: c
          image: a.example/pods:1
          resources: {limits: {{ .Values.limits | toJson }}}
"""
SCHEMA = '{"type": "object", "properties": {"size": {"type": "integer"}}}'
FILES = {
    "values.yaml": "size: 3\nlimits: {}\n",
    "values.schema.json": SCHEMA,
    "crds/things.yaml": CRD,
    "templates/thing.yaml": THING,
    "templates/space.yaml": OWN_SPACE,
    "templates/secret.yaml": SECRET,
    "templates/webhook.yaml": WEBHOOK,
    "templates/hook.yaml": HOOK,
    "templates/pods.yaml": PODS,
    "templates/NOTES.txt": "Well done.",
}


def ours(store: ChartStore | None = None, **more: object) -> CloudObject:
    address = store.repository if store else "https://charts.fleet.example"
    given = {"chart": NAME, "version": VERSION, "repositoryOpts": {"repo": address}}
    return release(**{"name": "mine", **given, **more})


@pytest.fixture
def store() -> Iterator[ChartStore]:
    with serving(ChartStore(chart=packed(FILES))) as served:
        yield served


@pytest.fixture
def mine(kitchen: Kitchen, store: ChartStore) -> RenderedChart:
    return rendered(kitchen, ours(store))["mine"]


def of_folder(
    kitchen: Kitchen,
    files: dict[str, str],
    chart: str = CHART,
    **more: object,
) -> RenderedChart:
    """What becomes of a chart that lies in the user's folder."""
    assert kitchen.folder
    on(kitchen.folder, files, chart)
    return rendered(kitchen, ours(**more))["mine"]


def test_a_chart_of_a_repository_is_rendered_and_taken(
    mine: RenderedChart, store: ChartStore
) -> None:
    assert mine.refused == ()
    assert mine.source == store.repository
    assert mine.objects == {
        "ConfigMap": 1,
        "Deployment": 1,
        "Namespace": 1,
        "Secret": 1,
        "Thing": 1,
        "ValidatingWebhookConfiguration": 1,
    }


def test_the_same_chart_of_a_registry_is_the_same(
    kitchen: Kitchen, store: ChartStore, mine: RenderedChart
) -> None:
    store.wants_token = True
    from_registry = release(name="mine", chart=store.registry, version=VERSION)

    found = rendered(kitchen, from_registry)["mine"]

    assert (found.objects, found.images) == (mine.objects, mine.images)
    assert found.source == store.registry


def test_kinds_that_the_chart_brings_are_made_and_its_objects_are_not(
    mine: RenderedChart, api: Api
) -> None:
    assert mine.crds == ("things.ours.fleet.example",)
    things = "/apis/ours.fleet.example/v1/namespaces/default/things"
    assert api.get(things) is not None
    assert api.get(f"{things}/mine") is None
    assert api.get("/apis/apps/v1/namespaces/default/deployments/pods") is None
    assert api.get("/api/v1/namespaces/ours-own/configmaps/inside") is None


def test_a_webhook_over_everything_is_listed_and_takes_no_force(
    mine: RenderedChart, api: Api
) -> None:
    (webhook,) = [each for each in mine.dependents if "Webhook" in each.kind]

    assert (webhook.name, webhook.failure_policy) == ("all.ours.fleet.example", "Fail")
    assert webhook.everything
    assert not webhook.in_force
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "free"}}
    assert api.apply("/api/v1/namespaces/default/configmaps/free", body)


def test_a_conversion_is_listed_and_takes_no_force(mine: RenderedChart, api: Api) -> None:
    assert "CustomResourceDefinition" in {each.kind for each in mine.dependents}
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    found = api.get(f"{definitions}/things.ours.fleet.example")
    assert found
    assert found["spec"]["conversion"] == {"strategy": "None"}


def test_hooks_are_listed_with_their_images_and_not_run(mine: RenderedChart, api: Api) -> None:
    assert mine.hooks == ("Job before (pre-install)",)
    assert mine.images == ("a.example/hook:1", "a.example/pods:1")
    assert api.get("/apis/batch/v1/namespaces/default/jobs/before") is None


def test_what_changes_with_each_rendering_and_what_asks_the_cluster_is_said(
    mine: RenderedChart,
) -> None:
    assert mine.varying == ("ours/templates/secret.yaml",)
    assert mine.lookups == ("v1 Secret default/keys",)


def test_values_that_break_the_schema_of_the_chart_are_refused_as_helm_does(
    kitchen: Kitchen,
) -> None:
    found = of_folder(kitchen, FILES, values={"size": "three"})

    assert len(found.refused) == 1
    assert "Helm: values don't meet the specifications of the schema" in found.refused[0]
    assert "/size" in found.refused[0]


def test_a_chart_for_another_kubernetes_is_refused(kitchen: Kitchen) -> None:
    found = of_folder(kitchen, FILES, f'{CHART}kubeVersion: ">= 1.99.0"\n')

    assert "chart requires kubeVersion: >= 1.99.0" in found.refused[0]


def test_a_field_that_no_kind_has_is_refused_by_the_api_server(kitchen: Kitchen) -> None:
    wrong = FILES["templates/thing.yaml"].replace("spec: {size:", "spec: {sise:")

    found = of_folder(kitchen, {**FILES, "templates/thing.yaml": wrong})

    assert len(found.refused) == 1
    assert found.refused[0].startswith("Thing default/mine: ")
    assert "sise" in found.refused[0]


def test_pods_that_the_environment_refuses_are_a_problem_of_the_chart(kitchen: Kitchen) -> None:
    found = of_folder(kitchen, FILES, values={"limits": {"nvidia.com/gpu": 3}})

    assert any("ValidatingAdmissionPolicy" in each for each in found.refused)
    assert any(each.state == "violated" for each in found.findings)
    assert found.problems


def test_kinds_that_a_release_skips_are_not_made_and_not_known_to_the_chart(
    kitchen: Kitchen, api: Api
) -> None:
    other = {
        path: text.replace("ours.fleet.example", "skipped.fleet.example")
        for path, text in FILES.items()
    }

    found = of_folder(kitchen, other, skipCrds=True)

    assert found.crds == ()
    assert "Thing" not in found.objects
    assert api.get("/apis/skipped.fleet.example/v1") is None


def test_a_chart_of_the_folder_comes_before_the_repository(
    kitchen: Kitchen, store: ChartStore
) -> None:
    assert kitchen.folder
    path = on(kitchen.folder, FILES)

    assert rendered(kitchen, ours(store))["mine"].source == str(path)
    assert not store.asked


def test_secrets_are_never_in_arguments(kitchen: Kitchen, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    spy = tmp_path / "spy"
    spy.write_text(f'#!/bin/sh\necho "$@" > {seen}\nexec {kitchen.helm} "$@"\n')
    spy.chmod(0o755)
    watched = Kitchen(
        api=kitchen.api,
        helm=spy,
        toolchain=kitchen.toolchain,
        store=kitchen.store,
        folder=kitchen.folder,
    )

    found = of_folder(watched, FILES, values={"size": 4, "password": "hunter2"})

    assert found.refused == ()
    assert seen.read_text() == "\n"
