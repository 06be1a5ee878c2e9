"""`fleet audit`: what it reads of a cluster, whom it believes, and what that holds and costs."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from fleet.audit.cluster import read_cluster
from fleet.audit.judging import Audited, audit
from fleet.audit.tables import audited_table
from fleet.cli.main import app
from hardware.catalogue import load
from kube.client import KubeError
from policies.configuration import configure
from tests.support.admission.objects import KINDS
from tests.support.kube_server import kubeconfig
from tests.support.recorded_cluster import RecordedCluster
from tests.unit.fleet.audit.conftest import (
    DGX,
    NOW,
    bare,
    deploy,
    named,
    node,
    owned,
    running,
    service,
)

DEADLINE, QOS = "idle/job-deadline", "numa/guaranteed-qos"
PER_GPU = (load("dgx-h200").usd_per_hour or 0) / 8


def audited(cluster: RecordedCluster, **said: dict[str, Any]) -> Audited:
    rules = configure({key.replace("__", "/").replace("_", "-"): of for key, of in said.items()})
    mine = [each for each in rules if each.rule.id in (DEADLINE, QOS)]
    return audit("dev", mine, read_cluster(cluster.lister, mine, lambda _: None), NOW)


def broken(found: Audited) -> list[tuple[str, str]]:
    return [(each.rule, str(each.resource)) for each in found.checked.findings]


def text(found: Audited, *, whole: bool = False, width: int = 100) -> str:
    console = Console(width=width)
    with console.capture() as capture:
        console.print(audited_table(found, whole=whole))
    return capture.get()


def test_gpus_hours_and_usd_are_those_of_the_pods_of_what_breaks_a_rule(
    cluster: RecordedCluster,
) -> None:
    cluster.serve("v1", "pods", "Pod", running(bare("endless")))
    deploy(cluster, service("good"), pods=2)

    found = audited(cluster)

    assert broken(found) == [(DEADLINE, "Pod 'endless'")]
    assert found.gpus_in_use == 6
    assert (found.broken.objects, found.broken.gpus) == (1, 4)
    assert found.broken.gpu_hours == pytest.approx(40)
    assert found.broken.usd == pytest.approx(40 * PER_GPU, abs=0.01)
    (mine,) = found.by_namespace
    assert (mine.namespace, mine.team, mine.gpus, mine.gpus_in_use) == ("research", "quant", 4, 6)
    assert found.checked.code == 1
    assert "1 of 5 objects break a mandatory rule and hold 4 of the 6 GPUs in use" in " ".join(
        text(found).split()
    )


def test_a_deployment_is_judged_once_and_holds_what_all_its_pods_hold(
    cluster: RecordedCluster,
) -> None:
    deploy(cluster, service("greedy", cpu="7.5"), pods=3)

    found = audited(cluster)

    assert broken(found) == [(QOS, "Deployment 'greedy'")]
    assert (found.broken.objects, found.broken.gpus, found.pods) == (1, 3, 3)


def test_what_only_the_pods_break_is_told_once_of_their_owner(cluster: RecordedCluster) -> None:
    inside = service("changed", cpu="7.5")["spec"]["template"]["spec"]
    deploy(cluster, service("changed"), pods=3, containers=inside["containers"])

    found = audited(cluster)

    assert broken(found) == [(QOS, "Deployment 'changed'")]
    (one,) = found.checked.findings
    assert one.sentences[0].startswith("Pod 'changed-1-0': container 'main'")
    assert one.sentences[-1].endswith("The same holds for 2 more of its pods.")
    assert found.broken.gpus == 3


@pytest.mark.parametrize("claim", ["not there", "not the controller", "makes no pods", "elsewhere"])
def test_an_owner_counts_only_where_it_is_there_controls_and_makes_pods(
    cluster: RecordedCluster, claim: str
) -> None:
    where = "other" if claim == "elsewhere" else "research"
    (owner,) = cluster.serve(
        "apps/v1", "deployments", "Deployment", named(service("good"), "good", where)
    )
    machine = {**node("dgx-01", DGX), "metadata": {"name": "dgx-01", "uid": "nodes-0"}}
    if claim == "not there":
        owner = {**owner, "metadata": {"name": "gone", "uid": "gone"}}
    if claim == "makes no pods":
        owner = machine  # which owns the pods of its kubelet's own files
    pod = owned(running(bare("claims")), owner, controller=claim != "not the controller")
    cluster.serve("v1", "pods", "Pod", pod)

    found = audited(cluster)

    assert broken(found) == [(DEADLINE, "Pod 'claims'")]
    assert (found.broken.gpus, found.checked.objects) == (4, 5)


def test_owners_in_a_circle_stand_for_themselves(cluster: RecordedCluster) -> None:
    as_set = {**service("a"), "kind": "ReplicaSet"}
    one = {"apiVersion": "apps/v1", "kind": "ReplicaSet"}
    first = {**one, "metadata": {"name": "a", "uid": "replicasets-0"}}
    second = {**one, "metadata": {"name": "b", "uid": "replicasets-1"}}
    cluster.serve(
        "apps/v1",
        "replicasets",
        "ReplicaSet",
        owned(named(as_set, "a"), second),
        owned(named(as_set, "b"), first),
    )

    assert audited(cluster).checked.objects == 5


def test_pods_that_ended_or_wait_hold_nothing(cluster: RecordedCluster) -> None:
    waiting = running(bare("waits"), node="")
    cluster.serve("v1", "pods", "Pod", running(bare("done"), phase="Succeeded"), waiting)

    found = audited(cluster)

    assert broken(found) == [(DEADLINE, "Pod 'waits'")]
    assert (found.broken.gpus, found.gpus_in_use) == (0, 0)
    assert "none of them holds a GPU now" in text(found)


def test_hardware_that_the_catalogue_does_not_know_counts_and_is_named(
    cluster: RecordedCluster,
) -> None:
    other = {"node.kubernetes.io/instance-type": "p99.large"}
    cluster.serve("v1", "nodes", "Node", node("rented", other))
    cluster.serve("v1", "pods", "Pod", running(bare("x"), "unknown"), running(bare("y"), "rented"))

    found = audited(cluster)

    assert (found.broken.gpus, found.broken.usd) == (8, 0)
    assert found.without_price == ("", "p99.large")
    assert "USD are too few: nodes that nobody has labelled, p99.large." in text(found)


@pytest.mark.parametrize(
    ("asked", "capacity", "gpus"),
    [
        ({"nvidia.com/gpu": "2"}, {"nvidia_com/gpu": "8"}, 2),
        ({"nvidia.com/gpu": "2"}, {"nvidia_com/gpu": "32"}, 0.5),  # time-slices
        ({"nvidia.com/mig-1g.18gb": "1"}, {"nvidia_com/mig-1g_18gb": "56"}, 1 / 7),
        ({"nvidia.com/mig-3g.71gb": "2"}, {"nvidia_com/mig-3g_71gb": "16"}, 1),
    ],
)
def test_parts_of_gpus_count_as_parts(
    cluster: RecordedCluster, asked: dict[str, str], capacity: dict[str, str], gpus: float
) -> None:
    cluster.serve("v1", "nodes", "Node", node("shared", DGX, **capacity))
    pod = running(bare("part"), "shared")
    pod["spec"]["containers"][0]["resources"] = {"limits": asked}
    cluster.serve("v1", "pods", "Pod", pod)

    assert audited(cluster).gpus_in_use == pytest.approx(gpus, abs=0.001)


def test_an_init_container_holds_gpus_where_it_asks_for_more(cluster: RecordedCluster) -> None:
    pod = running(bare("init", 2))
    first = {"name": "first", "resources": {"limits": {"nvidia.com/gpu": "8"}}}
    beside = {"name": "beside", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    pod["spec"]["initContainers"] = [first]
    cluster.serve("v1", "pods", "Pod", pod)
    assert audited(cluster).gpus_in_use == 8

    pod["spec"]["initContainers"] = [{**beside, "restartPolicy": "Always"}]
    assert audited(cluster).gpus_in_use == 3


def test_an_exempt_object_is_not_at_stake(cluster: RecordedCluster) -> None:
    cluster.serve("v1", "pods", "Pod", running(bare("endless")))
    one = {"resource": "Pod/endless", "owner": "desk", "reason": "old", "until": "2027-01-01"}
    there = {**one, "namespace": str(bare("endless")["metadata"]["namespace"])}

    found = audited(cluster, idle__job_deadline={"exemptions": [there]})

    assert [each.state for each in found.checked.findings] == ["exempt"]
    assert (found.broken.objects, found.by_rule, found.checked.code) == (0, (), 0)


def test_an_advisory_rule_has_its_stake_and_does_not_stop(cluster: RecordedCluster) -> None:
    cluster.serve("v1", "pods", "Pod", running(bare("endless")))

    found = audited(cluster, idle__job_deadline={"level": "advisory"})

    assert [(each.rule, each.level, each.gpus) for each in found.by_rule] == [
        (DEADLINE, "advisory", 4)
    ]
    assert (found.broken.objects, found.checked.code) == (0, 0)


def test_secrets_are_never_read(cluster: RecordedCluster) -> None:
    rules = [each for each in configure({}) if each.rule.id == QOS]
    assert rules[0].rule.admission is not None
    speaks_of = replace(rules[0].rule.admission, kinds=(("", "secrets"), ("", "pods")))
    rule = replace(rules[0], rule=replace(rules[0].rule, admission=speaks_of))

    read_cluster(cluster.lister, [rule], lambda _: None)

    assert "/api/v1/pods" in cluster.requests
    assert not [each for each in cluster.requests if "secrets" in each]


def test_a_forbidden_kind_is_named_and_ends_with_2(cluster: RecordedCluster) -> None:
    cluster.serve("v1", "pods", "Pod", running(bare("endless")))
    cluster.serve("batch/v1", "jobs", "Job")
    cluster.forbidden = {"jobs", "nodes"}

    found = audited(cluster)

    assert list(found.forbidden) == ["nodes", "jobs.batch"]
    assert 'User "me" cannot list resource "jobs"' in found.forbidden["jobs.batch"]
    assert found.checked.code == 2
    shown = " ".join(text(found).split())
    assert "Not read, as your access does not allow it: 2 kinds (nodes, jobs.batch)." in shown
    assert found.broken.gpus == 4


def test_a_long_list_comes_in_pages_and_again_where_one_has_expired(
    cluster: RecordedCluster,
) -> None:
    cluster.serve("v1", "pods", "Pod", *(running(bare(f"p{number}", 1)) for number in range(5)))
    cluster.expired = ["pods"]

    assert audited(cluster).pods == 5
    assert cluster.requests.count("/api/v1/pods") == 2 + 3


def test_a_list_that_never_ends_is_a_sentence(cluster: RecordedCluster) -> None:
    cluster.serve("v1", "pods", "Pod", *(running(bare(f"p{number}")) for number in range(5)))
    cluster.expired = ["pods"] * 3

    with pytest.raises(KubeError, match="The list of pods changed 3 times while it was read"):
        audited(cluster)


def test_the_owner_of_a_kind_that_no_rule_lists_is_read_and_searched(
    cluster: RecordedCluster,
) -> None:
    inside = {"podSpec": {"containers": bare("x")["spec"]["containers"]}}
    (owner,) = cluster.serve(
        "example.com/v1",
        "trainings",
        "Training",
        {"metadata": {"name": "t", "namespace": "research"}, "spec": inside},
    )
    cluster.serve("v1", "pods", "Pod", owned(running(bare("t-0")), owner))

    found = audited(cluster)

    assert str(found.checked.unjudged[0].resource) == "Training 't'"
    assert found.checked.objects == 4  # the Training stands for its pod


def test_json_has_what_a_check_says_and_the_stakes(cluster: RecordedCluster) -> None:
    cluster.serve("v1", "pods", "Pod", running(bare("endless")))

    plain = json.loads(json.dumps(audited(cluster).as_json()))

    assert plain["holds"] is False
    assert plain["verdicts"][0]["findings"][0]["resource"]["file"] == "research/pods/endless"
    assert plain["by_namespace"][0]["gpu_hours"] == pytest.approx(40)
    assert plain["not_verified"] == ["dgx-h200"]


@pytest.mark.parametrize("whole", [False, True])
def test_the_report_fits_80_columns(cluster: RecordedCluster, whole: bool) -> None:
    cluster.serve("v1", "pods", "Pod", running(bare("endless")))
    deploy(cluster, service("greedy", cpu="7.5"), pods=3)

    shown = text(audited(cluster), whole=whole, width=80)

    assert max(map(len, shown.splitlines())) <= 80
    assert ("research/pods/endless" in shown) is whole


def test_without_a_kubeconfig_there_is_a_sentence(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["audit", "dev", "--kubeconfig", str(tmp_path / "gone")])

    assert result.exit_code == 2
    assert f"{tmp_path}/gone is not there" in result.output


def test_a_context_that_the_kubeconfig_lacks_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(kubeconfig("http://127.0.0.1:9"))

    result = CliRunner().invoke(
        app, ["audit", "dev", "--kubeconfig", str(path), "--context", "gone"]
    )

    assert result.exit_code == 2
    assert "Context 'gone' not found" in result.output


def test_a_server_that_does_not_answer_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(kubeconfig("http://127.0.0.1:9"))

    result = CliRunner().invoke(app, ["audit", "dev", "--kubeconfig", str(path)])

    assert result.exit_code == 2
    assert "The API server http://127.0.0.1:9 does not answer (ConnectError)" in result.output


@pytest.mark.parametrize(
    ("version", "kind", "where"),
    [
        ("apps/v1", "Deployment", "Job 'endless'"),
        ("example.com/v1", "Deployment", "Job 'endless'"),
        ("example.com/v1", "Machine", "Machine 'good'"),  # which may make Jobs
    ],
)
def test_no_job_hides_behind_an_owner(
    cluster: RecordedCluster, version: str, kind: str, where: str
) -> None:
    found = {**service("good"), "apiVersion": version, "kind": kind}
    (owner,) = cluster.serve(version, f"{kind.lower()}s", kind, found)
    endless = named(KINDS["Job"](bare("endless")), "endless")
    (job,) = cluster.serve("batch/v1", "jobs", "Job", owned(endless, owner))
    cluster.serve("v1", "pods", "Pod", owned(running(bare("endless-1")), job))

    assert (DEADLINE, where) in broken(audited(cluster))
