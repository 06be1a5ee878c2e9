"""The pods of a chart's workloads, and where they may run."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from rehearsal.charts.placing import Place, may_run
from rehearsal.charts.room import homeless, room
from rehearsal.charts.workloads import Amount, images, pod_of, replicas, requests

GI = 1024**3
TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}


def node(pool: str, *taints: Mapping[str, str], **labels: str) -> Place:
    have = {"cpu": "7500m", "memory": "30Gi"}
    return Place(name=f"{pool}-1", pool=pool, labels=labels, taints=taints, allocatable=have)


def container(cpu: str = "", memory: str = "", **more: Any) -> dict[str, Any]:
    asked = {key: value for key, value in {"cpu": cpu, "memory": memory}.items() if value}
    return {"name": "c", "image": "a.example/c:1", "resources": {"requests": asked}, **more}


def workload(kind: str, *containers: Mapping[str, Any], **spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [*containers], **spec}}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "w", "namespace": "there"},
        "spec": {"replicas": 3, "template": template},
    }


def test_a_pod_is_as_its_controller_would_make_it() -> None:
    pod = pod_of(workload("Deployment", container()))

    assert pod
    assert (pod["kind"], pod["metadata"]["namespace"]) == ("Pod", "there")
    assert pod["metadata"]["labels"] == {"a": "b"}
    assert pod["spec"]["containers"] == [container()]


def test_a_cron_job_has_pods_and_a_service_has_none() -> None:
    template = {"spec": {"containers": [container()]}}
    cron = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "c"},
        "spec": {"jobTemplate": {"spec": {"template": template}}},
    }

    assert list(images(cron)) == ["a.example/c:1"]
    assert replicas(cron) == 0
    assert pod_of({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}) is None


def custom(kind: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "a.example/v1", "kind": kind, "metadata": {"name": "c"}, "spec": spec}


def component(version: str, **more: Any) -> dict[str, Any]:
    return {"repository": "a.example/gpu", "image": "part", "version": version, **more}


def test_a_custom_resource_names_images_by_their_parts_or_whole() -> None:
    digest = f"sha256:{'1' * 64}"
    policy = custom(
        "ClusterPolicy",
        toolkit=component("v1", enabled=True),
        plugin=component(digest, config={"name": "shares"}),
        driver=component("v2", enabled=False, manager=component("v3")),
        monitor={"exporter": component("v4")},
    )
    prometheus = custom(
        "Prometheus",
        image="a.example/prometheus:v3",
        version="v3",
        containers=[{"name": "c", "image": f"b.example:5000/side:1@{digest}"}],
    )

    assert list(images(policy)) == [
        "a.example/gpu/part:v1",
        f"a.example/gpu/part@{digest}",
        "a.example/gpu/part:v4",
    ]
    assert list(images(prometheus)) == [
        "a.example/prometheus:v3",
        f"b.example:5000/side:1@{digest}",
    ]


def test_what_is_no_custom_resource_or_no_image_names_none() -> None:
    values = {"image": "a.example/x:1", "args": ["--image=a.example/y:1"]}
    built_in = {**custom("Thing", **values), "apiVersion": "networking.k8s.io/v1"}

    assert list(images(built_in)) == []
    assert list(images(custom("Thing", image="Flatcar", args=values["args"]))) == []
    assert list(images(custom("Thing", image="https://a.example/x.raw"))) == []
    assert list(images(custom("Thing", image={"repository": "a.example/x"}))) == []


def test_init_containers_run_one_after_another_and_sidecars_beside_the_rest() -> None:
    spec = {
        "initContainers": [
            container("4", "1Gi"),
            container("1", "2Gi", restartPolicy="Always"),
            container("2", "1Gi"),
        ],
        "containers": [container("500m", "1Gi"), container("250m")],
        "overhead": {"cpu": "100m"},
    }

    assert requests(spec) == Amount(cpu=Decimal("4.1"), memory=Decimal(3 * GI))


def test_a_limit_without_a_request_is_one() -> None:
    limited = {"name": "c", "resources": {"limits": {"cpu": "2", "memory": "1Gi"}}}

    assert requests({"containers": [limited]}) == Amount(cpu=Decimal(2), memory=Decimal(GI))


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    terms = [{"matchExpressions": [{"key": key, "operator": operator, "values": [*values]}]}]
    way = "requiredDuringSchedulingIgnoredDuringExecution"
    return {"affinity": {"nodeAffinity": {way: {"nodeSelectorTerms": terms}}}}


@pytest.mark.parametrize(
    ("spec", "runs"),
    [
        ({}, True),
        ({"nodeSelector": {"zone": "a"}}, True),
        ({"nodeSelector": {"zone": "b"}}, False),
        (expression("zone", "In", "a", "b"), True),
        (expression("zone", "NotIn", "a"), False),
        (expression("other", "NotIn", "a"), True),
        (expression("zone", "Exists"), True),
        (expression("zone", "DoesNotExist"), False),
        (expression("cpus", "Gt", "7"), True),
        (expression("cpus", "Lt", "7"), False),
        (expression("zone", "Unknown"), False),
    ],
)
def test_a_pod_runs_where_selector_and_affinity_let_it(spec: dict[str, Any], runs: bool) -> None:
    assert may_run(spec, node("cpu", zone="a", cpus="8")) is runs


@pytest.mark.parametrize(
    ("toleration", "runs"),
    [
        (None, False),
        ({"operator": "Exists"}, True),
        ({"key": "nvidia.com/gpu", "operator": "Exists"}, True),
        ({"key": "nvidia.com/gpu", "value": "present"}, True),
        ({"key": "nvidia.com/gpu", "value": "other"}, False),
        ({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "other", "operator": "Exists"}, False),
    ],
)
def test_a_pod_runs_on_a_tainted_node_that_it_tolerates(
    toleration: dict[str, str] | None, runs: bool
) -> None:
    spec = {"tolerations": [toleration]} if toleration else {}

    assert may_run(spec, node("gpu", TAINT)) is runs


def test_requests_are_summed_where_pods_can_run_nowhere_else() -> None:
    nodes = [node("cpu"), node("gpu", TAINT)]
    everywhere = workload("DaemonSet", container("1"), tolerations=[{"operator": "Exists"}])
    either = workload("Deployment", container("1", "1Gi"), tolerations=[{"operator": "Exists"}])
    away = workload("Deployment", container("2", "2Gi"))

    found = {each.pools: (each.pods, each.cpu) for each in room([everywhere, either, away], nodes)}

    assert found == {("cpu",): (4, 7), ("gpu",): (1, 1), ("cpu", "gpu"): (8, 11)}


def test_a_pool_that_charts_ask_too_much_of_has_not_enough() -> None:
    (found,) = room([workload("Deployment", container("3"))], [node("cpu")])

    assert not found.is_enough
    assert found.sentence == "cpu: 3 pods of charts ask for 9 of 7.5 CPUs and 0 of 30 GiB"


def test_a_workload_that_no_node_may_run_is_named() -> None:
    lost = workload("Deployment", container(), nodeSelector={"no": "where"})
    daemons = workload("DaemonSet", container(), nodeSelector={"no": "where"})

    assert homeless([lost, daemons], [node("cpu")]) == ["Deployment w"]
