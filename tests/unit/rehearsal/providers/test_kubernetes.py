"""The kubernetes provider without an API server: names, requests, secrets, refusals."""

import json
from pathlib import Path

import pytest

from rehearsal.providers.values import UNKNOWN, Properties, Secret
from tests.support.rehearsal.fake_cluster import FakeCluster, FakeProvider
from tests.support.rehearsal.provider_engine import FakeEngine, Refused, engine

NAMESPACE = "kubernetes:core/v1:Namespace"
CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
SECRET = "kubernetes:core/v1:Secret"
JOB = "kubernetes:batch/v1:Job"
QUEUE = "kubernetes:scheduling.volcano.sh/v1beta1:Queue"


def config_map(**metadata: object) -> Properties:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {**metadata}, "data": {"a": "1"}}  # type: ignore[dict-item]  # plain data


def secret(**contents: object) -> Properties:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "bmc"}, **contents}  # type: ignore[dict-item]  # plain data


def test_an_unnamed_object_gets_its_own_name_and_digits(kubernetes: FakeEngine) -> None:
    match kubernetes.checked(CONFIG_MAP, config_map())["metadata"]:
        case {"name": str(name), "namespace": "default", "annotations": annotations}:
            assert name.startswith("it-")
            assert len(name) == len("it-") + 8
            assert annotations == {"pulumi.com/autonamed": "true"}
        case other:
            pytest.fail(f"{other}")


def test_an_unnamed_object_keeps_its_name(kubernetes: FakeEngine) -> None:
    first = kubernetes.checked(CONFIG_MAP, config_map())
    again = kubernetes.checked(CONFIG_MAP, {**config_map(), "data": {"a": "2"}}, old=first)
    assert again["metadata"] == first["metadata"]


def test_a_name_that_is_not_known_yet_stays_unknown(kubernetes: FakeEngine) -> None:
    inputs = kubernetes.checked(CONFIG_MAP, config_map(name=UNKNOWN))
    assert inputs["metadata"] == {"name": UNKNOWN, "namespace": "default"}


def test_an_object_of_the_cluster_gets_no_namespace(kubernetes: FakeEngine) -> None:
    inputs: Properties = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "metal3"}}
    assert kubernetes.checked(NAMESPACE, inputs) == inputs


def test_a_generated_name_is_refused(kubernetes: FakeEngine) -> None:
    sentence = kubernetes.refusal(CONFIG_MAP, config_map(generateName="x-"))
    assert sentence.startswith("metadata.generateName is given, but server-side apply needs a name")


@pytest.mark.parametrize(
    "type_",
    [
        "kubernetes:helm.sh/v3:Chart",
        "kubernetes:yaml:ConfigFile",
        "kubernetes:kustomize:Directory",
        "kubernetes:core/v1:SecretPatch",
        "kubernetes:core/v1:SecretList",
    ],
)
def test_what_is_no_single_object_is_refused_by_name(type_: str, kubernetes: FakeEngine) -> None:
    assert kubernetes.refusal(type_, {}).startswith(f"{type_} cannot be rehearsed: ")


def test_functions_are_refused_by_name(kubernetes: FakeEngine) -> None:
    with pytest.raises(Refused, match="kubernetes:yaml:decode cannot be rehearsed"):
        kubernetes.invoke("kubernetes:yaml:decode", {"text": "a: 1"})


def test_a_preview_is_a_dry_run(kubernetes: FakeEngine, cluster: FakeCluster) -> None:
    outputs = kubernetes.previewed(CONFIG_MAP, config_map(name="plan"))
    (request,) = cluster.applied
    assert (request.method, request.url.path) == ("POST", "/api/v1/namespaces/default/configmaps")
    assert request.url.params["dryRun"] == "All"
    assert cluster.objects == {}
    assert outputs["data"] == {"a": "1"}
    assert "status" not in outputs


@pytest.mark.parametrize(
    ("type_", "inputs"),
    [
        (CONFIG_MAP, {**config_map(name="plan"), "data": {"a": UNKNOWN}}),
        (CONFIG_MAP, config_map(name="plan", namespace=UNKNOWN)),
        (
            QUEUE,
            {
                "apiVersion": "scheduling.volcano.sh/v1beta1",
                "kind": "Queue",
                "metadata": {"name": "q"},
            },
        ),
    ],
)
def test_what_cannot_be_sent_is_previewed_as_it_is(
    type_: str, inputs: Properties, kubernetes: FakeEngine, cluster: FakeCluster
) -> None:
    outputs = kubernetes.previewed(type_, inputs)
    assert cluster.applied == []
    assert outputs == kubernetes.checked(type_, inputs)


def test_a_preview_goes_on_where_the_namespace_is_still_to_be_made(
    kubernetes: FakeEngine, cluster: FakeCluster
) -> None:
    cluster.refuses = (404, 'namespaces "metal3" not found')
    outputs = kubernetes.previewed(CONFIG_MAP, config_map(name="plan", namespace="metal3"))
    assert outputs["data"] == {"a": "1"}


def test_a_denial_is_shown_in_the_preview(kubernetes: FakeEngine, cluster: FakeCluster) -> None:
    cluster.refuses = (422, "denied: GPU pods must set limits")
    with pytest.raises(Refused) as error:
        kubernetes.previewed(CONFIG_MAP, config_map(name="plan"))
    assert str(error.value) == "ConfigMap default/plan: denied: GPU pods must set limits"


def test_a_secret_is_removed_from_the_message_of_the_server(
    kubernetes: FakeEngine, cluster: FakeCluster
) -> None:
    cluster.refuses = (422, 'Invalid value: "hunter2"')
    with pytest.raises(Refused) as error:
        kubernetes.created(SECRET, secret(stringData={"password": "hunter2"}))
    assert str(error.value) == 'Secret default/bmc: Invalid value: "[secret]"'


def test_an_object_that_exists_is_not_taken_over(kubernetes: FakeEngine) -> None:
    kubernetes.created(CONFIG_MAP, config_map(name="plan"))
    with pytest.raises(Refused, match="ConfigMap default/plan: it exists in the cluster already"):
        kubernetes.created(CONFIG_MAP, config_map(name="plan"))


def test_an_object_that_exists_is_taken_over_by_a_provider_that_says_so(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    adopting = engine(FakeProvider(cluster=cluster, directory=tmp_path, adopts=True), tmp_path)
    adopting.configure({})
    for _ in range(2):
        assert adopting.created(CONFIG_MAP, config_map(name="plan")).id == "default/plan"


def test_an_object_that_is_to_be_replaced_under_its_name_is_previewed_as_it_is(
    kubernetes: FakeEngine, cluster: FakeCluster
) -> None:
    kubernetes.created(CONFIG_MAP, config_map(name="plan"))
    changed: Properties = {**config_map(name="plan"), "data": {"a": "2"}}
    outputs = kubernetes.previewed(CONFIG_MAP, changed)
    assert outputs == kubernetes.checked(CONFIG_MAP, changed)
    assert next(iter(cluster.objects.values()))["data"] == {"a": "1"}


def test_the_outputs_are_the_live_object(kubernetes: FakeEngine) -> None:
    made = kubernetes.created(CONFIG_MAP, config_map(name="plan"))
    assert made.outputs["metadata"] == {"name": "plan", "namespace": "default", "uid": "1"}
    assert made.outputs["status"] == {"phase": "Active"}


def test_the_contents_of_a_secret_are_secret(kubernetes: FakeEngine) -> None:
    made = kubernetes.created(SECRET, secret(stringData={"password": "hunter2"}))
    assert made.inputs["stringData"] == Secret({"password": "hunter2"})
    assert made.outputs["stringData"] == Secret({"password": "hunter2"})


def test_the_schema_of_a_definition_is_sent_as_the_api_writes_it(
    kubernetes: FakeEngine, cluster: FakeCluster
) -> None:
    inputs: Properties = {"metadata": {"name": "j"}, "spec": {"x_kubernetes_map_type": "atomic"}}
    made = kubernetes.created(JOB, inputs)
    sent = json.loads(cluster.applied[0].content)
    assert sent["spec"] == {"x-kubernetes-map-type": "atomic"}
    assert made.outputs["spec"] == {"x_kubernetes_map_type": "atomic"}
