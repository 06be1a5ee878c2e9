"""Changes and refreshes of Kubernetes objects."""

from pathlib import Path

import pytest

from rehearsal.providers.values import Properties, Secret
from tests.support.rehearsal.fake_cluster import FakeCluster, FakeProvider
from tests.support.rehearsal.provider_engine import FakeEngine, Refused, engine

CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
SECRET = "kubernetes:core/v1:Secret"
JOB = "kubernetes:batch/v1:Job"


def config_map(**metadata: object) -> Properties:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {**metadata}, "data": {"a": "1"}}  # type: ignore[dict-item]  # plain data


def secret(**contents: object) -> Properties:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "bmc"}, **contents}  # type: ignore[dict-item]  # plain data


def test_an_object_is_made_as_the_real_provider_makes_it_and_changed_under_its_own_manager(
    kubernetes: FakeEngine, cluster: FakeCluster
) -> None:
    made = kubernetes.created(CONFIG_MAP, config_map(name="plan"))
    kubernetes.updated(made, {**config_map(name="plan"), "data": {"a": "2"}})
    told = [(each.method, each.url.params["fieldManager"]) for each in cluster.applied]
    own = made.outputs["__fieldManager"]
    assert str(own).startswith("pulumi-kubernetes-")
    assert told == [("POST", "pulumi-kubernetes"), ("PATCH", own)]


def test_an_object_that_is_gone_is_not_made_again_by_a_change(
    kubernetes: FakeEngine, cluster: FakeCluster
) -> None:
    made = kubernetes.created(CONFIG_MAP, config_map(name="plan"))
    cluster.objects.clear()
    with pytest.raises(Refused, match="ConfigMap default/plan: it is gone"):
        kubernetes.updated(made, {**config_map(name="plan"), "data": {"a": "2"}})


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
    type_: str, old: Properties, new: Properties, replaces: list[str], kubernetes: FakeEngine
) -> None:
    answer = kubernetes.diff(kubernetes.created(type_, old), new)
    assert answer.changes == answer.DIFF_SOME
    assert list(answer.replaces) == replaces


def test_an_object_with_a_fixed_name_is_deleted_before_it_is_replaced(
    kubernetes: FakeEngine,
) -> None:
    fixed = kubernetes.created(CONFIG_MAP, config_map(name="a"))
    answer = kubernetes.diff(fixed, {**config_map(name="a"), "data": {"a": "2"}})
    assert answer.deleteBeforeReplace


def test_two_ways_to_say_the_default_namespace_are_no_change(kubernetes: FakeEngine) -> None:
    made = kubernetes.created(CONFIG_MAP, config_map(name="a"))
    answer = kubernetes.diff(made, config_map(name="a", namespace="default"))
    assert answer.changes == answer.DIFF_NONE


@pytest.mark.parametrize(
    ("type_", "old", "new"),
    [
        (CONFIG_MAP, config_map(name="a"), {**config_map(name="a"), "data": {"a": "2"}}),
        (SECRET, secret(stringData={"password": "old"}), secret(stringData={"password": "new"})),
        (SECRET, secret(data={"password": "b2xk"}), secret(data={"password": "bmV3"})),
    ],
)
def test_contents_change_in_place_only_where_provider_and_object_allow_it(
    type_: str, old: Properties, new: Properties, tmp_path: Path
) -> None:
    def replaces(old: Properties, new: Properties, *, mutable: bool) -> list[str]:
        provider = FakeProvider(cluster=FakeCluster(), directory=tmp_path, mutable=mutable)
        attached = engine(provider, tmp_path)
        attached.configure({})
        answer = attached.diff(attached.created(type_, old), new)
        assert answer.changes == answer.DIFF_SOME
        return list(answer.replaces)

    fixed: Properties = {"immutable": True}
    assert replaces(old, new, mutable=False)
    assert not replaces(old, new, mutable=True)
    assert replaces({**old, **fixed}, {**new, **fixed}, mutable=True)


def test_a_refresh_keeps_what_the_server_only_writes_in_another_way(
    kubernetes: FakeEngine, cluster: FakeCluster
) -> None:
    inputs: Properties = {"metadata": {"name": "j"}, "spec": {"limits": {"cpu": "1000m"}}}
    made = kubernetes.created(JOB, inputs)
    live = cluster.objects["/apis/batch/v1/namespaces/default/jobs/j"]
    live["spec"] = {"limits": {"cpu": "1"}, "backoffLimit": 6}
    found = kubernetes.read(made)
    assert found
    assert found.inputs == made.inputs


def test_a_refresh_finds_what_someone_else_changed(
    kubernetes: FakeEngine, cluster: FakeCluster
) -> None:
    made = kubernetes.created(CONFIG_MAP, config_map(name="a"))
    cluster.objects["/api/v1/namespaces/default/configmaps/a"]["data"] = {"a": "9"}
    found = kubernetes.read(made)
    assert found
    assert found.inputs["data"] == {"a": "9"}


def test_a_refresh_knows_a_secret_by_its_decoded_data(
    kubernetes: FakeEngine, cluster: FakeCluster
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
    kubernetes: FakeEngine, cluster: FakeCluster
) -> None:
    made = kubernetes.created(CONFIG_MAP, config_map(name="a"))
    found = kubernetes.read(type(made)(type=made.type, id=made.id, inputs={}, outputs={}))
    assert found
    assert found.inputs == made.inputs


def test_a_refresh_misses_what_is_gone(kubernetes: FakeEngine) -> None:
    made = kubernetes.created(CONFIG_MAP, config_map(name="a"))
    kubernetes.delete(made)
    kubernetes.delete(made)
    assert kubernetes.read(made) is None
