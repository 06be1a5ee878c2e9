"""A small chart of ours, from a repository, a registry and a folder, at a real API server."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rehearsal.api import Api
from rehearsal.charts.rehearse import Equipment
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


def ours(store: ChartStore | None = None, **more: Any) -> CloudObject:
    address = store.repository if store else "https://charts.fleet.example"
    given = {"chart": NAME, "version": VERSION, "repositoryOpts": {"repo": address}}
    return release(**{"name": "mine", **given, **more})


@pytest.fixture
def store() -> Iterator[ChartStore]:
    with serving(ChartStore(chart=packed(FILES))) as served:
        yield served


@pytest.fixture
def mine(equipment: Equipment, store: ChartStore) -> RenderedChart:
    return rendered(equipment, ours(store))["mine"]


def of_folder(
    equipment: Equipment,
    files: dict[str, str],
    chart: str = CHART,
    **more: Any,
) -> RenderedChart:
    """What becomes of a chart that lies in the user's folder."""
    assert equipment.folder
    on(equipment.folder, files, chart)
    return rendered(equipment, ours(**more))["mine"]


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
    equipment: Equipment, store: ChartStore, mine: RenderedChart
) -> None:
    store.wants_token = True
    from_registry = release(name="mine", chart=store.registry, version=VERSION)

    found = rendered(equipment, from_registry)["mine"]

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


def test_what_somebody_else_has_made_is_refused_as_helm_does(
    equipment: Equipment, api: Api
) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "taken"},
        "data": {"a": "b"},
    }
    path = "/api/v1/namespaces/default/configmaps/taken"
    files = {"templates/taken.yaml": json.dumps(body)}
    assert of_folder(equipment, files).refused == ()

    api.apply(path, body, manager="program")
    try:
        (told,) = of_folder(equipment, files).refused
    finally:
        api.delete(path)

    assert told.startswith("ConfigMap default/taken is in the cluster already")


def test_an_object_of_two_releases_is_refused_to_the_later(equipment: Equipment) -> None:
    assert equipment.folder
    on(equipment.folder, {"templates/webhook.yaml": WEBHOOK}, CHART)
    found = rendered(equipment, ours(), ours(name="other"))
    assert found["mine"].refused == ()
    (told,) = found["other"].refused
    assert told.startswith("ValidatingWebhookConfiguration ours is also of the release mine")


def test_odd_objects_are_refused_one_by_one_and_the_next_chart_is_judged(
    equipment: Equipment,
) -> None:
    odd = {
        "templates/evil.yaml": 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "evil\\e"}\n',
        "templates/list.yaml": "apiVersion: v1\nkind: ConfigMapList\nitems: [1, a]\n",
        "templates/pods.yaml": PODS.replace("spec:\n  sel", "spec:\n  replicas: many\n  sel"),
        "templates/crd.yaml": f"{CRD.partition('spec:')[0]}spec: hi\n",
    }
    assert equipment.folder
    on(equipment.folder, odd, CHART)
    on(equipment.folder, {"templates/hook.yaml": HOOK}, CHART.replace(NAME, "sound"))

    found = rendered(equipment, ours(), ours(name="other", chart="sound"))

    told = [each.partition(": ")[0] for each in found["mine"].refused]
    assert sorted(told) == [
        "CustomResourceDefinition things.ours.fleet.example",
        "Deployment default/pods",
        "ours/templates/evil.yaml",
        "ours/templates/list.yaml",
        "ours/templates/list.yaml",
    ]
    assert found["other"].hooks == ("Job before (pre-install)",)


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
    equipment: Equipment,
) -> None:
    found = of_folder(equipment, FILES, values={"size": "three"})

    assert len(found.refused) == 1
    assert "Helm: values don't meet the specifications of the schema" in found.refused[0]
    assert "/size" in found.refused[0]


def test_a_chart_for_another_kubernetes_is_refused(equipment: Equipment) -> None:
    found = of_folder(equipment, FILES, f'{CHART}kubeVersion: ">= 1.99.0"\n')

    assert "chart requires kubeVersion: >= 1.99.0" in found.refused[0]


def test_a_field_that_no_kind_has_is_refused_by_the_api_server(equipment: Equipment) -> None:
    wrong = FILES["templates/thing.yaml"].replace("spec: {size:", "spec: {sise:")

    found = of_folder(equipment, {**FILES, "templates/thing.yaml": wrong})

    assert len(found.refused) == 1
    assert found.refused[0].startswith("Thing default/mine: ")
    assert "sise" in found.refused[0]


def test_pods_that_the_environment_refuses_are_a_problem_of_the_chart(equipment: Equipment) -> None:
    found = of_folder(equipment, FILES, values={"limits": {"nvidia.com/gpu": 3}})

    assert any("ValidatingAdmissionPolicy" in each for each in found.refused)
    assert any(each.state == "violated" for each in found.findings)
    assert found.problems


def test_pods_that_their_namespace_refuses_are_a_problem_though_their_workload_is_none(
    equipment: Equipment, api: Api
) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    space = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "strict", "labels": labels},
    }
    api.apply("/api/v1/namespaces/strict", space)

    files = {name: text for name, text in FILES.items() if name != "templates/space.yaml"}
    found = of_folder(equipment, files, namespace="strict")

    assert [each.partition(": ")[0] for each in found.refused] == [
        "a pod of Deployment strict/pods",
        "a pod of Job strict/before",
    ]
    assert all('violates PodSecurity "restricted' in each for each in found.refused)


def test_kinds_that_a_release_skips_are_not_made_and_not_known_to_the_chart(
    equipment: Equipment, api: Api
) -> None:
    other = {
        path: text.replace("ours.fleet.example", "skipped.fleet.example")
        for path, text in FILES.items()
    }

    found = of_folder(equipment, other, skipCrds=True)

    assert found.crds == ()
    assert "Thing" not in found.objects
    assert api.get("/apis/skipped.fleet.example/v1") is None


def test_a_chart_of_the_folder_comes_before_the_repository(
    equipment: Equipment, store: ChartStore
) -> None:
    assert equipment.folder
    path = on(equipment.folder, FILES)

    assert rendered(equipment, ours(store))["mine"].source == str(path)
    assert not store.asked


def test_secrets_are_never_in_arguments(equipment: Equipment, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    spy = tmp_path / "spy"
    spy.write_text(f'#!/bin/sh\necho "$@" > {seen}\nexec {equipment.helm} "$@"\n')
    spy.chmod(0o755)
    watched = Equipment(
        api=equipment.api,
        helm=spy,
        toolchain=equipment.toolchain,
        store=equipment.store,
        folder=equipment.folder,
    )

    found = of_folder(watched, FILES, values={"size": 4, "password": "hunter2"})

    assert found.refused == ()
    assert seen.read_text() == "\n"
