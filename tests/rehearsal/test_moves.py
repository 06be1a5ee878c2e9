"""Changes of dev rehearsed from the commit before: what happens to jobs and machines that run."""

import signal
from collections.abc import Callable
from typing import Any

import pytest

from tests.rehearsal.conftest import Checkout, Ended

SCRATCH = """
    import pulumi_kubernetes
    from pulumi_kubernetes.core.v1 import Namespace

    scratch = pulumi_kubernetes.Provider(
        "scratch", kubeconfig=read_secrets(environment.settings)["kubeconfig"]
    )
    Namespace(
        "scratch", metadata={"name": "scratch"}, opts=pulumi.ResourceOptions(provider=scratch)
    )
"""
COMPOSED = "    compose(environment, read_secrets(environment.settings))\n"
WHO_PAYS = ("team", "cost-centre", "project", "experiment", "branch")
OWN_SCRATCH = (COMPOSED, COMPOSED + SCRATCH)


def job(namespace: str, name: str, pool: str, gpus: int) -> str:
    """A Job as `kubectl get jobs -o yaml` shows it: it has run for two hours at 12:00."""
    gpu = f", nvidia.com/gpu: '{gpus}'" if gpus else ""
    wants = f"{{cpu: '4', memory: 8Gi{gpu}}}"
    paid = "".join(f", fleet.gpu/{label}: platform" for label in WHO_PAYS)
    return f"""
- apiVersion: batch/v1
  kind: Job
  metadata: {{name: {name}, namespace: {namespace}, uid: 0a, resourceVersion: "7"}}
  spec:
    parallelism: 1
    selector: {{matchLabels: {{controller-uid: 0a}}}}
    activeDeadlineSeconds: 86400
    template:
      metadata: {{labels: {{controller-uid: 0a{paid}}}}}
      spec:
        restartPolicy: Never
        nodeSelector: {{fleet.gpu/pool: {pool}}}
        tolerations: [{{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}}]
        containers:
        - name: main
          image: registry.example/train@sha256:{"0" * 64}
          resources: {{requests: {wants}, limits: {wants}}}
  status: {{active: 1, startTime: "2026-11-23T10:00:00Z"}}
"""


def gang(queue: str, name: str, pool: str, gpus: int) -> str:
    """A gang of two pods, as `kubectl get vcjob -o yaml` shows it."""
    rails = ", rdma/rails: '1'" if pool == "dgx" else ""
    wants = f"{{cpu: '{gpus * 8}', memory: {gpus * 32}Gi, nvidia.com/gpu: '{gpus}'{rails}}}"
    labels = {**dict.fromkeys(WHO_PAYS, "acceptance"), "team": "research", "cost-centre": "'4100'"}
    paid = ", ".join(f"fleet.gpu/{label}: {value}" for label, value in labels.items())
    return f"""
- apiVersion: batch.volcano.sh/v1alpha1
  kind: Job
  metadata: {{name: {name}, namespace: {queue}, uid: 0b, resourceVersion: "8"}}
  spec:
    queue: {queue}
    minAvailable: 2
    networkTopology: {{mode: hard, highestTierAllowed: 1}}
    policies: [{{event: PodEvicted, action: RestartJob}}]
    tasks:
    - name: rank
      replicas: 2
      template:
        metadata:
          labels: {{{paid}}}
          annotations: {{fleet.gpu/checkpoint-seconds: '60'}}
        spec:
          restartPolicy: Never
          activeDeadlineSeconds: 86400
          terminationGracePeriodSeconds: 60
          nodeSelector: {{fleet.gpu/pool: {pool}}}
          tolerations: [{{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}}]
          containers:
          - name: main
            image: registry.example/train@sha256:{"0" * 64}
            resources: {{requests: {wants}, limits: {wants}}}
  status: {{state: {{phase: Running, lastTransitionTime: "2026-11-23T09:00:00Z"}}}}
"""


JOBS = "apiVersion: v1\nkind: List\nitems:" + "".join(
    [
        job("scratch", "train", "dgx", 2),
        job("default", "keeps", "dgx", 4),
        job("default", "features", "cpu", 0),
        gang("research", "owned", "dgx", 4),
        gang("research-burst", "rented", "burst", 8),
    ]
)
EDITS = {
    "    dgx:\n      kind: bare-metal\n": "    hall:\n      was: dgx\n      kind: bare-metal\n",
    "{weight: 4, gpus: 16, pool: dgx}": "{weight: 4, gpus: 16, pool: hall}",
    # of owned and rented machines: other kernel arguments, other reservations
    "tuning: {housekeeping_cores_per_numa_node: 4}\n      # Flatcar": (
        "tuning: {housekeeping_cores_per_numa_node: 6}\n      # Flatcar"
    ),
    "tuning: {housekeeping_cores_per_numa_node: 4}\n      gpu_limits": (
        "tuning: {housekeeping_cores_per_numa_node: 6}\n      gpu_limits"
    ),
    "tuning: {housekeeping_cores_per_numa_node: 1}": (
        "tuning: {housekeeping_cores_per_numa_node: 2}"
    ),
    "  gpu-fleet:budget:": "  gpu-fleet:allow: {replace: 2}\n  gpu-fleet:budget:",
}


def committed(checkout: Checkout, *, program: tuple[str, str] = ("", "")) -> Checkout:
    """The checkout with a smaller dev as its last commit."""
    path = checkout.stack_file("dev")
    path.write_text(path.read_text().replace("nodes: 3", "nodes: 2"))
    main = checkout.root / "stacks" / "__main__.py"
    main.write_text(main.read_text().replace(*program) if program[0] else main.read_text())
    checkout.git("init", "--quiet")
    checkout.git("add", ".")
    checkout.git("commit", "--quiet", "--message", "Before")
    return checkout


def edit(checkout: Checkout, changes: dict[str, str]) -> None:
    path = checkout.stack_file("dev")
    text = path.read_text()
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    path.write_text(text)


@pytest.fixture(scope="module")
def moved(make_checkout: Callable[[], Checkout], tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """A rename, new tuning of owned and rented machines, and a namespace with a job that goes."""
    checkout = committed(make_checkout(), program=OWN_SCRATCH)
    main = checkout.root / "stacks" / "__main__.py"
    main.write_text(main.read_text().replace(SCRATCH, ""))
    edit(checkout, EDITS)
    jobs = tmp_path_factory.mktemp("jobs") / "running.yaml"
    jobs.write_text(JOBS)
    ended = checkout.run("rehearse", "dev", "--json", "--from=HEAD", f"--jobs={jobs}")
    assert checkout.left_running() == []
    assert not checkout.workspace().before.exists()
    return ended


@pytest.fixture(scope="module")
def moves(moved: Ended) -> dict[str, Any]:
    found: dict[str, Any] = moved.report["moves"]
    assert found, moved.report["problems"]
    return found


def test_the_program_of_the_commit_ran_first_with_every_job_and_gang_of_the_snapshot(
    moves: dict[str, Any],
) -> None:
    assert (moves["jobs"], moves["gangs"], moves["not_running"]) == (5, 2, [])
    assert len(moves["commit"]) == 40


def test_a_job_whose_namespace_goes_is_ended_and_beyond_what_is_allowed(
    moved: Ended, moves: dict[str, Any]
) -> None:
    (ended,) = moves["ended"]
    assert (ended["name"], ended["gpus"], ended["again_on"]) == ("scratch/train", 2, [])
    assert ended["node"].startswith("dev-dgx-")
    assert ended["gpu_hours_lost"] > 2 * 2, "it had run for two hours when the snapshot was made"
    assert ended["usd"] > 0
    assert moved.code == 1
    (problem,) = moved.report["problems"]
    assert problem.startswith(
        "The change ends running jobs: 1, and gpu-fleet:rehearsal.allow.jobs_ended allows 0: "
        "scratch/train on dev-dgx-"
    )


def test_new_boot_data_of_owned_machines_reinstalls_none_and_says_which_wait(
    moves: dict[str, Any],
) -> None:
    assert moves["due"] == [{"pool": "hall", "machines": ["dev-dgx-01", "dev-dgx-02"]}]
    assert not [each for each in moves["machines"] if each["name"].startswith("dev-dgx")]


def test_a_renamed_pool_ends_no_job_on_its_machines(moves: dict[str, Any]) -> None:
    assert "default/keeps" not in {each["name"] for each in moves["ended"]}


def test_servers_are_drained_and_replaced_one_after_the_other(moves: dict[str, Any]) -> None:
    told = [(each["name"], each["what"]) for each in moves["machines"]]
    servers = [name for name, what in told if what == "replaced"]
    assert sorted(servers) == ["fleet-dev-cpu-1", "fleet-dev-cpu-2"]
    for name in servers:
        assert told.index((name, "drained")) < told.index((name, "replaced"))
    first, second = servers
    assert told.index((first, "replaced")) < told.index((second, "drained"))


def test_a_drain_waits_for_the_job_on_its_server(moves: dict[str, Any]) -> None:
    assert [each["job"] for each in moves["waited"]] == ["default/features"]


def test_the_fields_that_cannot_change_in_place_are_named(moves: dict[str, Any]) -> None:
    fields = {each["resource"]: each["fields"] for each in moves["replaced"]}
    assert fields == {
        "Server cpu-1": ["userData"],
        "Server cpu-2": ["userData"],
        "BucketObjectv2 burst-boot-plain": ["key"],
    }


def test_rented_machines_with_boot_data_of_before_are_kept_for_the_gang_that_runs_on_them(
    moves: dict[str, Any],
) -> None:
    """By the budgets of their NodePools, as Karpenter itself says."""
    kept = {each["node_pool"]: each for each in moves["drifted"]}
    assert {*kept} == {"burst-reserved", "burst-spot"}
    for each in kept.values():
        assert each["jobs"] == ["research-burst/rented"]
        assert each["by_budget"]
        assert "disruption reason Drifted due to blocking budget" in each["blocked"]
        assert each["reason"] == "NodePoolDrifted", (
            "the NUMA plan is a label of the NodePool's nodes"
        )


def test_the_owned_machines_were_never_below_what_their_queues_hold(moves: dict[str, Any]) -> None:
    assert moves["shortages"] == []


@pytest.mark.slow
def test_a_change_that_touches_nothing_ends_no_job(checkout: Checkout) -> None:
    committed(checkout)
    edit(checkout, {"# who pays, and": "# Who pays, and"})
    ended = checkout.run("rehearse", "dev", "--json", "--from=HEAD")
    assert ended.code == 0, ended.stderr
    moves = ended.report["moves"]
    assert (moves["jobs"], moves["gangs"]) == (3, 2), "the smoke set is on both DGX"
    for what in (
        "not_running",
        "ended",
        "waited",
        "machines",
        "drifted",
        "due",
        "replaced",
        "shortages",
    ):
        assert moves[what] == [], what
    assert checkout.git("status", "--porcelain").split() == ["M", "stacks/Pulumi.dev.yaml"]


@pytest.mark.slow
def test_a_pool_that_is_renamed_without_its_old_name_is_refused(checkout: Checkout) -> None:
    committed(checkout)
    edit(checkout, {key: new.replace("      was: dgx\n", "") for key, new in EDITS.items()})
    ended = checkout.run("rehearse", "dev", "--json", "--from=HEAD")
    assert ended.code == 1
    assert ended.report["moves"] is None
    assert any("dgx" in problem for problem in ended.report["problems"])


@pytest.mark.slow
def test_a_kill_leaves_nothing_of_the_commit_behind(checkout: Checkout) -> None:
    committed(checkout)
    running = checkout.start("rehearse", "dev", "--from=HEAD")
    running.wait_for("… up of ")
    before = checkout.workspace().before
    assert before.is_dir()
    running.end(signal.SIGKILL)
    assert checkout.run("rehearse-stop", "dev").code == 0
    assert not before.exists()
    assert checkout.git("worktree", "list").count("\n") == 1
    assert checkout.git("status", "--porcelain") == ""
