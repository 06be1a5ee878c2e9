"""What the kubernetes provider decides by itself: names, what is sent, what replaces."""

import json
from pathlib import Path

import pytest

from rehearsal.providers.values import UNKNOWN, Properties, Secret
from tests.unit.rehearsal.providers.engine import Engine, Refused, engine
from tests.unit.rehearsal.providers.fake_cluster import FakeCluster, FakeProvider

NAMESPACE = "kubernetes:core/v1:Namespace"
CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
SECRET = "kubernetes:core/v1:Secret"
JOB = "kubernetes:batch/v1:Job"
QUEUE = "kubernetes:scheduling.volcano.sh/v1beta1:Queue"


def config_map(**metadata: object) -> Properties:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {**metadata}, "data": {"a": "1"}}  # type: ignore[dict-item]  # plain data


def secret(**contents: object) -> Properties:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "bmc"}, **contents}  # type: ignore[dict-item]  # plain data


def test_an_unnamed_object_gets_its_own_name_and_digits(kubernetes: Engine) -> None:
    match kubernetes.checked(CONFIG_MAP, config_map())["metadata"]:
        case {"name": str(name), "namespace": "default", "annotations": annotations}:
            assert name.startswith("it-")
            assert len(name) == len("it-") + 8
            assert annotations == {"pulumi.com/autonamed": "true"}
        case other:
            pytest.fail(f"{other}")


def test_an_unnamed_object_keeps_its_name(kubernetes: Engine) -> None:
    first = kubernetes.checked(CONFIG_MAP, config_map())
    again = kubernetes.checked(CONFIG_MAP, {**config_map(), "data": {"a": "2"}}, old=first)
    assert again["metadata"] == first["metadata"]


def test_a_name_that_is_not_known_yet_stays_unknown(kubernetes: Engine) -> None:
    inputs = kubernetes.checked(CONFIG_MAP, config_map(name=UNKNOWN))
    assert inputs["metadata"] == {"name": UNKNOWN, "namespace": "default"}


def test_an_object_of_the_cluster_gets_no_namespace(kubernetes: Engine) -> None:
    inputs: Properties = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "metal3"}}
    assert kubernetes.checked(NAMESPACE, inputs) == inputs


def test_a_generated_name_is_refused(kubernetes: Engine) -> None:
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
def test_what_is_no_single_object_is_refused_by_name(type_: str, kubernetes: Engine) -> None:
    assert kubernetes.refusal(type_, {}).startswith(f"{type_} cannot be rehearsed: ")


def test_functions_are_refused_by_name(kubernetes: Engine) -> None:
    with pytest.raises(Refused, match="kubernetes:yaml:decode cannot be rehearsed"):
        kubernetes.invoke("kubernetes:yaml:decode", {"text": "a: 1"})


def test_a_preview_is_a_dry_run(kubernetes: Engine, cluster: FakeCluster) -> None:
    outputs = kubernetes.previewed(CONFIG_MAP, config_map(name="plan"))
    (request,) = cluster.applied
    assert request.url.path == "/api/v1/namespaces/default/configmaps/plan"
    parameters = dict(request.url.params)
    assert parameters["dryRun"] == "All"
    assert parameters["force"] == "false"
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
    type_: str, inputs: Properties, kubernetes: Engine, cluster: FakeCluster
) -> None:
    outputs = kubernetes.previewed(type_, inputs)
    assert cluster.applied == []
    assert outputs == kubernetes.checked(type_, inputs)


def test_a_preview_goes_on_where_the_namespace_is_still_to_be_made(
    kubernetes: Engine, cluster: FakeCluster
) -> None:
    cluster.refuses = (404, 'namespaces "metal3" not found')
    outputs = kubernetes.previewed(CONFIG_MAP, config_map(name="plan", namespace="metal3"))
    assert outputs["data"] == {"a": "1"}


def test_a_denial_is_told_in_the_preview(kubernetes: Engine, cluster: FakeCluster) -> None:
    cluster.refuses = (422, "denied: GPU pods must set limits")
    with pytest.raises(Refused) as error:
        kubernetes.previewed(CONFIG_MAP, config_map(name="plan"))
    assert str(error.value) == "ConfigMap default/plan: denied: GPU pods must set limits"


def test_what_the_server_says_of_a_secret_is_struck_out(
    kubernetes: Engine, cluster: FakeCluster
) -> None:
    cluster.refuses = (422, 'Invalid value: "hunter2"')
    with pytest.raises(Refused) as error:
        kubernetes.created(SECRET, secret(stringData={"password": "hunter2"}))
    assert str(error.value) == 'Secret default/bmc: Invalid value: "[secret]"'


def test_an_object_that_exists_is_not_taken_over(kubernetes: Engine) -> None:
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


def test_an_object_is_remembered_as_it_lives(kubernetes: Engine) -> None:
    made = kubernetes.created(CONFIG_MAP, config_map(name="plan"))
    assert made.outputs["metadata"] == {"name": "plan", "namespace": "default", "uid": "1"}
    assert made.outputs["status"] == {"phase": "Active"}


def test_a_change_is_applied_by_the_field_manager_that_made_the_object(
    kubernetes: Engine, cluster: FakeCluster
) -> None:
    made = kubernetes.created(CONFIG_MAP, config_map(name="plan"))
    kubernetes.updated(made, {**config_map(name="plan"), "data": {"a": "2"}})
    managers = {request.url.params["fieldManager"] for request in cluster.applied}
    assert managers == {made.outputs["__fieldManager"]}
    assert str(managers.pop()).startswith("pulumi-kubernetes-")


def test_an_object_that_is_gone_is_not_made_again_by_a_change(
    kubernetes: Engine, cluster: FakeCluster
) -> None:
    made = kubernetes.created(CONFIG_MAP, config_map(name="plan"))
    cluster.objects.clear()
    with pytest.raises(Refused, match="ConfigMap default/plan: it is gone"):
        kubernetes.updated(made, {**config_map(name="plan"), "data": {"a": "2"}})


def test_the_contents_of_a_secret_are_secret(kubernetes: Engine) -> None:
    made = kubernetes.created(SECRET, secret(stringData={"password": "hunter2"}))
    assert made.inputs["stringData"] == Secret({"password": "hunter2"})
    assert made.outputs["stringData"] == Secret({"password": "hunter2"})


@pytest.mark.parametrize(
    ("type_", "old", "new", "replaces"),
    [
        (CONFIG_MAP, config_map(name="a"), config_map(name="b"), ["metadata.name"]),
        (
            CONFIG_MAP,
            config_map(name="a"),
            {**config_map(name="a"), "data": {"a": "2"}},
            ["data.a"],
        ),
        (SECRET, secret(type="Opaque"), secret(type="fleet/bmc"), ["type"]),
        (
            CONFIG_MAP,
            config_map(name="a"),
            config_map(name="a", namespace="metal3"),
            ["metadata.namespace"],
        ),
        (CONFIG_MAP, config_map(name="a"), config_map(name="a", labels={"b": "c"}), []),
        (
            JOB,
            {"metadata": {"name": "j"}, "spec": {"template": {"spec": {"nodeName": "a"}}}},
            {"metadata": {"name": "j"}, "spec": {"template": {"spec": {"nodeName": "b"}}}},
            ["spec.template.spec.nodeName"],
        ),
        (
            JOB,
            {"metadata": {"name": "j"}, "spec": {"suspend": True}},
            {"metadata": {"name": "j"}, "spec": {"suspend": False}},
            [],
        ),
    ],
)
def test_some_changes_replace_an_object(
    type_: str, old: Properties, new: Properties, replaces: list[str], kubernetes: Engine
) -> None:
    answer = kubernetes.diff(kubernetes.created(type_, old), new)
    assert answer.changes == answer.DIFF_SOME
    assert list(answer.replaces) == replaces


def test_an_object_with_a_fixed_name_goes_before_its_replacement_comes(kubernetes: Engine) -> None:
    fixed = kubernetes.created(CONFIG_MAP, config_map(name="a"))
    answer = kubernetes.diff(fixed, {**config_map(name="a"), "data": {"a": "2"}})
    assert answer.deleteBeforeReplace


def test_two_ways_to_say_the_default_namespace_are_no_change(kubernetes: Engine) -> None:
    made = kubernetes.created(CONFIG_MAP, config_map(name="a"))
    answer = kubernetes.diff(made, config_map(name="a", namespace="default"))
    assert answer.changes == answer.DIFF_NONE


def test_a_provider_may_change_config_maps_in_place(cluster: FakeCluster, tmp_path: Path) -> None:
    mutable = engine(FakeProvider(cluster=cluster, directory=tmp_path, mutable=True), tmp_path)
    mutable.configure({})
    made = mutable.created(CONFIG_MAP, config_map(name="a"))
    assert not mutable.diff(made, {**config_map(name="a"), "data": {"a": "2"}}).replaces


def test_a_refresh_keeps_what_the_server_only_writes_in_another_way(
    kubernetes: Engine, cluster: FakeCluster
) -> None:
    inputs: Properties = {"metadata": {"name": "j"}, "spec": {"limits": {"cpu": "1000m"}}}
    made = kubernetes.created(JOB, inputs)
    live = cluster.objects["/apis/batch/v1/namespaces/default/jobs/j"]
    live["spec"] = {"limits": {"cpu": "1"}, "backoffLimit": 6}
    found = kubernetes.read(made)
    assert found
    assert found.inputs == made.inputs


def test_a_refresh_finds_what_someone_else_changed(
    kubernetes: Engine, cluster: FakeCluster
) -> None:
    made = kubernetes.created(CONFIG_MAP, config_map(name="a"))
    cluster.objects["/api/v1/namespaces/default/configmaps/a"]["data"] = {"a": "9"}
    found = kubernetes.read(made)
    assert found
    assert found.inputs["data"] == {"a": "9"}


def test_a_refresh_knows_a_secret_by_its_decoded_data(
    kubernetes: Engine, cluster: FakeCluster
) -> None:
    made = kubernetes.created(SECRET, secret(stringData={"password": "hunter2"}))
    live = cluster.objects["/api/v1/namespaces/default/secrets/bmc"]
    del live["stringData"]
    live["data"] = {"password": "aHVudGVyMg=="}
    found = kubernetes.read(made)
    assert found
    assert found.inputs == made.inputs
    assert found.outputs["data"] == Secret({"password": "aHVudGVyMg=="})


def test_an_import_takes_all_that_a_program_could_have_written(
    kubernetes: Engine, cluster: FakeCluster
) -> None:
    made = kubernetes.created(CONFIG_MAP, config_map(name="a"))
    found = kubernetes.read(type(made)(type=made.type, id=made.id, inputs={}, outputs={}))
    assert found
    assert found.inputs == made.inputs


def test_a_refresh_misses_what_is_gone(kubernetes: Engine) -> None:
    made = kubernetes.created(CONFIG_MAP, config_map(name="a"))
    kubernetes.delete(made)
    kubernetes.delete(made)
    assert kubernetes.read(made) is None


def test_the_schema_of_a_definition_is_sent_as_the_api_writes_it(
    kubernetes: Engine, cluster: FakeCluster
) -> None:
    inputs: Properties = {"metadata": {"name": "j"}, "spec": {"x_kubernetes_map_type": "atomic"}}
    made = kubernetes.created(JOB, inputs)
    sent = json.loads(cluster.applied[0].content)
    assert sent["spec"] == {"x-kubernetes-map-type": "atomic"}
    assert made.outputs["spec"] == {"x_kubernetes_map_type": "atomic"}
