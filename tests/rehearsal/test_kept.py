"""dev, rehearsed once from end to end and kept running: its report, and the objects in its cluster.

Its stack file carries secrets whose passphrase nobody knows, as a real one does.
"""

import json
import re
import signal
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
import yaml

from fleet.check.judging import check
from fleet.check.reading import read
from fleet.statement.verifying import Wanted, verify
from policies.environment import load
from rehearsal.api import Api, ApiServerError
from rehearsal.karpenter import instances
from rehearsal.providers.kubernetes import kubeconfig
from rehearsal.stackfile import Cipher
from tests.conftest import ROOT
from tests.rehearsal.conftest import Checkout
from toolchain.build import ensure, versions


@dataclass(frozen=True, kw_only=True)
class Kept:
    """The kept rehearsal."""

    checkout: Checkout
    report: dict[str, Any]
    stderr: str
    api: Api

    @property
    def directory(self) -> Path:
        return self.checkout.workspace().directory.resolve()

    def nodes(self) -> dict[str, dict[str, Any]]:
        return {node["metadata"]["name"]: node for node in self.api.items("/api/v1/nodes")}

    def again(self, stack_file: str) -> dict[str, Any]:
        """The report of a rehearsal on the same twin with another text of the stack file."""
        self.checkout.stack_file("dev").write_text(stack_file)
        return self.checkout.run("rehearse", "dev", "--again", "--json").report


REFUSED = ROOT / "tests" / "rehearsal" / "admission" / "refused.yaml"
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}


UNKNOWN = """\
encryptionsalt: v1:jMYqXV7sQqM=:v1:c2FsdHNhbHRzYWx0:bm9ib2R5IGtub3dzIHRoZSBwYXNzcGhyYXNl
"""


SECRETS = """
  gpu-fleet:kubeconfig: {secure: "v1:c2FsdHNhbHRzYWx0:dGhlaXJz"}
  gpu-fleet:hcloud_token: {secure: "v1:c2FsdHNhbHRzYWx0:dGhlaXJz"}
"""


@pytest.fixture(scope="session")
def kept(make_checkout: Callable[[], Checkout]) -> Iterator[Kept]:
    checkout = make_checkout()
    path = checkout.stack_file("dev")
    path.write_text(UNKNOWN + path.read_text().replace("config:\n", f"config:{SECRETS}", 1))
    checkout.git("init", "--quiet")
    checkout.git("add", ".")
    checkout.git("commit", "--quiet", "--message", "As cloned")
    ended = checkout.run("rehearse", "dev", "--json", "--keep")
    assert ended.code == 0, ended.stderr + ended.stdout
    access = kubeconfig.cluster(str(checkout.workspace().directory / "kubeconfig"))
    api = Api.connect(access.server, access.trust)
    yield Kept(checkout=checkout, report=ended.report, stderr=ended.stderr, api=api)
    api.close()
    stopped = checkout.run("rehearse-stop", "dev")
    assert stopped.code == 0
    assert "etcd" in stopped.stdout
    assert checkout.left_running() == []


def test_the_environment_holds(kept: Kept) -> None:
    assert kept.report["passed"]
    assert kept.report["problems"] == []
    assert kept.report["environment"] == "dev"


def test_git_status_stays_clean(kept: Kept) -> None:
    assert kept.checkout.git("status", "--porcelain") == ""


def test_it_states_what_an_update_of_this_commit_needs(kept: Kept) -> None:
    stack_file = kept.checkout.stack_file("dev")
    wanted = Wanted(
        environment="dev",
        commit=kept.checkout.git("rev-parse", "HEAD").strip(),
        stack_file=stack_file,
        keys={},
        from_this_run=True,
    )
    found = verify((kept.directory / "statement.json").read_text(), wanted).predicate
    assert [each["name"] for each in found["phases"]][-1] == "smoke"
    runs = kept.api.request("GET", "/version")["gitVersion"]
    assert f"v{found['versions']['kubernetes']}" == runs
    left = "\n".join(found["notRehearsed"])
    charts = [f"chart {each['name']} " for each in kept.report["charts_not_rehearsed"]]
    ours = ["controller fleet-join-tokens: made, not run", "smoke job slice: no owned pool"]
    assert [each for each in (*charts, *ours, "GPU Feature Discovery") if each not in left] == []
    jobs = {each["kind"]: (each["outcome"], each["good"]) for each in found["jobs"]}
    assert jobs["gang that rents"] == ("ended", True)
    assert jobs["refused"] == ("refused", True)


def test_sites_and_pools_are_those_of_the_stack_file(kept: Kept) -> None:
    assert [site["name"] for site in kept.report["sites"]] == ["fra", "hel1", "us-east-1"]
    pools = {
        pool["name"]: (pool["nodes_ready"], pool["nodes_wanted"], pool["gpu_limit"])
        for pool in kept.report["pools"]
    }
    assert pools == {"dgx": (2, 2, None), "burst": (0, 0, 16), "cpu": (3, 3, None)}
    assert all(pool["boot_data_ok"] for pool in kept.report["pools"])


def test_every_machine_is_a_ready_node(kept: Kept) -> None:
    nodes = kept.nodes()
    assert {node["name"] for node in kept.report["nodes"]} == set(nodes)
    assert len(nodes) == 5
    for name, node in nodes.items():
        ready = [c["status"] for c in node["status"]["conditions"] if c["type"] == "Ready"]
        assert ready == ["True"], name


def test_a_dgx_offers_its_gpus_and_fewer_cpus_than_it_has(kept: Kept) -> None:
    node = kept.nodes()["dev-dgx-01"]
    capacity, allocatable = node["status"]["capacity"], node["status"]["allocatable"]
    assert (capacity["cpu"], capacity["nvidia.com/gpu"]) == ("224", "8")
    assert capacity["hugepages-1Gi"] == "0", "nothing asks for huge pages"
    assert int(allocatable["cpu"]) == 224 - 2 * 4 * 2, "four cores of two threads on each NUMA node"


def test_labels_and_taints_are_those_of_the_ignition(kept: Kept) -> None:
    dgx, cpu = kept.nodes()["dev-dgx-01"], kept.nodes()["fleet-dev-cpu-1"]
    labels = dgx["metadata"]["labels"]
    assert labels["fleet.gpu/site"] == "fra"
    assert labels["fleet.gpu/hardware"] == "dgx-h200"
    assert re.fullmatch("[0-9a-f]{8}", labels["fleet.gpu/numa-plan"])
    assert GPU_TAINT in dgx["spec"]["taints"]
    assert not cpu["spec"].get("taints")


def test_the_report_says_what_ignition_decided(kept: Kept) -> None:
    dgx = next(node for node in kept.report["nodes"] if node["name"] == "dev-dgx-01")
    assert dgx["decided_by_ignition"]
    assert [(n["id"], n["memory_gib"], n["gpus"]) for n in dgx["numa"]] == [
        (0, 1024, 4),
        (1, 1024, 4),
    ]
    assert dgx["hugepages"] == {}


KINDS = {"one GPU", "gang on owned machines", "gang that rents", "refused"}


def run_of(report: dict[str, Any], kind: str) -> dict[str, Any]:
    (found,) = [run for run in report["smoke"]["runs"] if run["kind"] == kind]
    return dict(found)


def pods_of(kept: Kept, run: dict[str, Any]) -> list[dict[str, Any]]:
    namespace, _, name = run["name"].partition("/")
    pods = kept.api.items(f"/api/v1/namespaces/{namespace}/pods")
    return [pod for pod in pods if pod["metadata"]["name"].startswith(name)]


def test_every_kind_of_job_ran_but_the_one_that_no_pool_has(kept: Kept) -> None:
    smoke = kept.report["smoke"]
    assert {run["kind"] for run in smoke["runs"]} == KINDS
    assert smoke["left_out"] == {"slice": "no owned pool shares its GPUs"}


def test_a_job_of_one_gpu_ran_on_a_dgx_by_volcano(kept: Kept) -> None:
    run = run_of(kept.report, "one GPU")
    assert (run["queue"], run["gpus"]) == ("research", 1), "a job of a team runs in its queue"
    (pod,) = pods_of(kept, run)
    assert pod["spec"]["schedulerName"] == "volcano"
    assert pod["status"]["phase"] == "Succeeded"
    assert [pod["spec"]["nodeName"]] == run["nodes"]
    assert run["nodes"][0].startswith("dev-dgx-")
    assert pod["status"]["qosClass"] == "Guaranteed"


def test_a_gang_ran_on_both_owned_machines_at_once(kept: Kept) -> None:
    run = run_of(kept.report, "gang on owned machines")
    assert run["nodes"] == ["dev-dgx-01", "dev-dgx-02"]
    starts = {pod["status"]["startTime"] for pod in pods_of(kept, run)}
    ends = {
        each["state"]["terminated"]["finishedAt"]
        for pod in pods_of(kept, run)
        for each in pod["status"]["containerStatuses"]
    }
    assert max(starts) < min(ends), "one ended before the other began"


def test_a_gang_rented_its_machines_at_once_and_they_went_again(kept: Kept) -> None:
    smoke, run = kept.report["smoke"], run_of(kept.report, "gang that rents")
    machines = {machine["capacity"]: machine for machine in smoke["machines"]}
    assert {*machines} == {"reserved", "spot"}, "dev has eight reserved GPUs"
    assert smoke["rounds"] == 1
    assert len(run["nodes"]) == 2
    assert run["starts_after_s"] > 5, "machines boot for five seconds"
    for machine in machines.values():
        assert (machine["type"], machine["zone"]) == ("p5e.48xlarge", "us-east-1b")
        assert machine["boot_s"] >= 5
        hours = (300 + 600) / 3600
        assert machine["real_usd"] > machine["usd_per_hour"] * hours
    assert kept.api.items("/apis/karpenter.sh/v1/nodeclaims") == []
    assert instances.alive(kept.directory) == []
    assert not {*run["nodes"]} & {*kept.nodes()}


def test_the_node_pools_are_the_programs_and_what_is_shortened_is_said(kept: Kept) -> None:
    pools = kept.api.items("/apis/karpenter.sh/v1/nodepools")
    assert {pool["spec"]["disruption"]["consolidateAfter"] for pool in pools} == {"10m"}
    times = {each["what"]: (each["real_s"], each["here_s"]) for each in shortened(kept)}
    assert times == {
        "boot of a rented machine": (300, 5),
        "consolidateAfter of burst": (600, 0.2),
        "smoke job": (600, 2),
    }


def shortened(kept: Kept) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = kept.report["smoke"]["shortened"]
    return found


def test_a_pod_with_half_a_core_is_refused_by_the_environments_own_rule(kept: Kept) -> None:
    run = run_of(kept.report, "refused")
    assert run["outcome"] == "refused"
    assert run["said"].startswith("by the API server: numa/admissible-shape: Job 'smoke-refused' ")
    assert "CPUs in multiples of 2" in run["said"]


def test_what_is_not_rehearsed_is_listed(kept: Kept) -> None:
    charts = {chart["name"]: chart for chart in kept.report["charts_not_rehearsed"]}
    assert set(charts) == {
        *("gpu-operator", "hcloud-cloud-controller-manager", "hcloud-csi"),
        *("kube-prometheus-stack", "kured", "lakefs"),
    }
    assert charts["kured"]["reason"] == "kubereboot.github.io cannot be reached"
    assert any("Metal3" in given for given in kept.report["taken_as_given"])


def test_lakefs_holds_what_the_stack_file_declares(kept: Kept) -> None:
    assert kept.report["lakefs"]["endpoint"] is None
    held = {each["name"]: each for each in kept.report["lakefs"]["repositories"]}
    assert set(held) == {"backtests", "ticks"}
    for name, repository in held.items():
        assert repository["storage_namespace"].endswith(f"/{name}")
        assert (repository["protected"], repository["actions"]) == (["main"], ["merge-check.yaml"])


def test_the_charts_that_can_be_had_are_rendered_and_refused_nowhere(kept: Kept) -> None:
    charts = kept.report["charts"]
    assert {chart["name"] for chart in charts["rendered"]} == {
        *("cilium", "karpenter", "karpenter-crd", "volcano")
    }
    assert not any(chart["refused"] or chart["homeless"] for chart in charts["rendered"])
    assert charts["images_changed"] == []  # stacks/images.dev.yaml has them
    assert any("cpu" in room["pools"] for room in charts["room"])


def test_the_twin_runs_the_minors_of_the_environment(kept: Kept) -> None:
    assert {"kubernetes", "volcano", "karpenter"} <= set(versions), "nothing was compared"
    assert kept.report["version_differences"] == []


def test_every_mandatory_rule_was_held(kept: Kept) -> None:
    assert kept.report["verdicts"]
    assert {rule["state"] for rule in kept.report["verdicts"]} <= {"held", "advisory", "exempt"}
    advice = {rule["level"] for rule in kept.report["verdicts"] if rule["state"] == "advisory"}
    assert advice <= {"advisory"}


def test_resources_are_counted_by_type(kept: Kept) -> None:
    resources = kept.report["resources"]
    assert resources["hcloud:index/server:Server"] == 3
    assert resources["kubernetes:metal3.io/v1alpha1:BareMetalHost"] == 2
    assert not [kind for kind in resources if kind.startswith("pulumi:")]


def test_what_is_up_has_its_price(kept: Kept) -> None:
    assert kept.report["cost"]["usd_per_hour"] > 0


def test_every_phase_has_its_time(kept: Kept) -> None:
    names = [phase["name"] for phase in kept.report["phases"]]
    assert names == ["binaries", "control plane", "preview", "up", "machines", "charts", "smoke"]


def test_a_second_up_changes_nothing_and_holds_the_rules(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "of a real stack")
    words = ("up", "--yes", "--skip-preview", "--non-interactive", "--expect-no-changes")
    ended = kept.checkout.run("twin", "dev", "pulumi", *words)
    assert ended.code == 0, ended.stdout + ended.stderr
    assert "Policies:" in ended.stdout


def test_kubectl_runs_in_the_twin(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    ensure(("kubectl",), console=None)
    monkeypatch.setenv("KUBECONFIG", "of a real cluster")
    ended = kept.checkout.run("twin", "dev", "kubectl", "get", "nodes", "--output=name")
    assert ended.stdout.split() == [f"node/{name}" for name in sorted(kept.nodes())]


def test_no_secret_is_in_clear_on_a_command_line_or_in_logs_or_state(kept: Kept) -> None:
    passphrase = (kept.directory / "passphrase").read_text()
    document = yaml.safe_load((kept.directory / "Pulumi.dev.yaml").read_text())
    cipher = Cipher.opened(passphrase, document["encryptionsalt"])
    assert cipher
    secrets = {"passphrase": passphrase}
    for name in ("hcloud_token", "bmc_password"):
        secrets[name] = cipher.decrypt(document["config"][f"gpu-fleet:{name}"]["secure"])
    places = {"command lines": "\n".join(kept.checkout.left_running())}
    for path in kept.directory.rglob("*"):
        watched = path.parent.name == "logs" or path.suffix in (".json", ".jsonl", ".sh")
        if path.is_file() and watched and path.name != "cloud.json":
            places[str(path)] = path.read_text(errors="replace")
    for name, secret in secrets.items():
        found = [place for place, text in places.items() if secret in text]
        assert found == [], f"{name} stands in clear"


def test_nothing_listens_beyond_the_loopback_interface(kept: Kept) -> None:
    for record in kept.checkout.workspace().processes.records():
        leader = record.leader()
        if leader is None:
            assert record.name.startswith("pulumi"), f"{record.name} does not run"
            continue
        if record.name == "karpenter":  # its program binds its metrics to no address
            continue
        for connection in leader.net_connections("inet"):
            if connection.status == psutil.CONN_LISTEN:
                address = ip_address(connection.laddr.ip)
                address = getattr(address, "ipv4_mapped", None) or address
                assert address.is_loopback, record.name


def test_etcd_and_the_api_server_refuse_strangers(kept: Kept) -> None:
    context = ssl.create_default_context(cafile=str(kept.directory / "certificates" / "ca.crt"))
    records = {record.name: record for record in kept.checkout.workspace().processes.records()}
    etcd = records["etcd"].leader()
    assert etcd
    listening = [c for c in etcd.net_connections("inet") if c.status == psutil.CONN_LISTEN]
    with httpx.Client(verify=context, trust_env=False) as stranger:
        assert stranger.get(f"{kept.api.server}/api/v1/secrets").status_code in (401, 403)
        for connection in listening:
            with pytest.raises(httpx.TransportError):
                stranger.get(f"https://127.0.0.1:{connection.laddr.port}/version")
    assert len(listening) == 2, "one port for clients, one for peers"


def test_its_api_server_refuses_what_fleet_check_refuses_in_the_same_words(kept: Kept) -> None:
    rules = load(kept.checkout.stack_file("dev")).rules
    found = check("dev", rules, read([str(REFUSED)])).findings
    said = {text for one in found if one.state == "violated" for text in one.sentences}
    assert said == {"Job 'train': container 'main' must have a whole number of CPUs in limits.cpu."}

    jobs = "/apis/batch/v1/namespaces/default/jobs"
    with pytest.raises(ApiServerError, match=re.escape(*said)):
        kept.api.create(jobs, yaml.safe_load(REFUSED.read_text()))
    assert kept.api.get(f"{jobs}/train") is None


def test_another_environment_is_rehearsed_beside_it_and_neither_notices(kept: Kept) -> None:
    before = {name: node["metadata"]["uid"] for name, node in kept.nodes().items()}
    other = kept.checkout.start("rehearse", "research")
    other.wait_for("… preview")
    ended = other.end(signal.SIGINT)
    assert ended.code == 130
    assert kept.checkout.left_running("research") == []
    assert {name: node["metadata"]["uid"] for name, node in kept.nodes().items()} == before


def test_a_kept_rehearsal_is_not_thrown_away_by_the_next(kept: Kept) -> None:
    ended = kept.checkout.run("rehearse", "dev")
    assert ended.code == 1
    assert "make rehearse-stop ENV=dev" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
    assert len(kept.nodes()) == 5


def test_the_report_is_on_disk_too(kept: Kept) -> None:
    assert json.loads((kept.directory / "report.json").read_text()) == kept.report


def test_a_kept_twin_takes_an_edit_and_takes_it_back(kept: Kept) -> None:
    before = {name: node["metadata"]["uid"] for name, node in kept.nodes().items()}
    text = kept.checkout.stack_file("dev").read_text()

    grown = kept.again(text.replace("nodes: 3", "nodes: 4"))
    changes = grown["changes"]
    assert grown["problems"] == []
    assert "Server cpu-4" in changes["resources"]["created"]
    assert changes["resources"]["replaced"] == changes["resources"]["deleted"] == []
    assert (changes["nodes_added"], changes["nodes_removed"]) == (["fleet-dev-cpu-4"], [])
    assert changes["usd_per_hour"] > changes["usd_per_hour_before"]
    assert {run["kind"] for run in grown["smoke"]["runs"]} == KINDS
    assert all(run["as_it_must"] for run in grown["smoke"]["runs"]), "those of before are gone"
    assert len(grown["smoke"]["machines"]) == 2
    assert set(kept.nodes()) == {*before, "fleet-dev-cpu-4"}

    refused = kept.again(text.replace("usd_per_day: 3000", "usd_per_day: 100"))
    assert not refused["passed"]
    assert refused["kept"]
    assert "cost/daily-budget" in " ".join(refused["problems"])
    broken = [each["rule"] for each in refused["verdicts"] if each["state"] == "violated"]
    assert broken == ["cost/daily-budget"]
    assert refused["ended_in"] == "preview"
    looked = kept.checkout.run("twin", "dev", "pulumi", "preview", "--non-interactive")
    assert looked.code == 0, "the twin holds no setting that was refused"

    shrunk = kept.again(text)
    assert shrunk["problems"] == []
    assert shrunk["changes"]["nodes_removed"] == ["fleet-dev-cpu-4"]
    assert {name: node["metadata"]["uid"] for name, node in kept.nodes().items()} == before
