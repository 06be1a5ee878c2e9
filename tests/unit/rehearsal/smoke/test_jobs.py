"""The jobs of the smoke set, made from the settings of an environment."""

import copy
from collections.abc import Mapping
from datetime import date
from typing import Any

import pytest
import yaml

from ignition.shapes.admission import admit
from ignition.shapes.node import ContainerRequest
from ignition.shapes.node_of_plan import from_plan
from policies.environment import Environment, load
from policies.environment import parse as parse_environment
from policies.gates.judging import findings
from policies.verdicts import Resource
from rehearsal.smoke.jobs import FILES, KINDS, SmokeJob, smoke_jobs, smoke_set
from settings import Settings, parse, stack_file
from settings.names import GPU
from tests.conftest import ROOT
from tests.support.environments import ENVIRONMENTS
from tests.support.stack_settings import config, with_efa

DAY = date(2026, 11, 23)
REFUSED = "refused"


QUEUES = {
    "research": {"weight": 4, "gpus": 16, "pool": "dgx"},
    "research-burst": {"weight": 4, "gpus": 16, "pool": "burst"},
    "interactive": {"weight": 1, "gpus": 8},
}


def small(made: Any = None) -> Any:
    """The configuration of a small environment, with a queue on each pool that has GPUs."""
    found: Any = made or config()
    found["teams"] = {"research": {"cost_centre": "4100", "queues": copy.deepcopy(QUEUES)}}
    return found


def changed(**values: object) -> Settings:
    """The settings of the small environment with other values at paths such as `pools__dgx`."""
    made = small()
    for path, value in values.items():
        at = made
        *steps, last = path.split("__")
        for step in steps:
            at = at[step]
        at[last] = value
    return parse("dev", made)


def by_kind(settings: Settings) -> dict[str, SmokeJob]:
    return {job.kind: job for job in smoke_jobs(settings)}


def limits(job: SmokeJob) -> dict[str, str]:
    (container,) = job.template["spec"]["containers"]
    assert container["resources"]["requests"] == container["resources"]["limits"]
    wanted: dict[str, str] = container["resources"]["limits"]
    return wanted


def broken(environment: str, manifest: Mapping[str, Any]) -> set[str]:
    """The rules of an environment that a manifest breaks."""
    return broken_of(load(stack_file(ROOT, environment)), manifest)


def broken_of(environment: Environment, manifest: Mapping[str, Any]) -> set[str]:
    """The rules with the settings of an environment that a manifest breaks."""
    resource = Resource(kind=manifest["kind"], name=manifest["metadata"]["name"])
    found = findings(manifest, environment.rules, resource=resource, today=DAY)
    return {finding.rule for finding in found if finding.state != "not checked"}


@pytest.mark.parametrize("file", sorted(FILES.glob("*.yaml")), ids=lambda path: path.stem)
def test_each_file_can_be_submitted_to_dev_as_it_is(file: Any) -> None:
    expected = {
        REFUSED: {"numa/admissible-shape"},
        "gang-spans": {"idle/outside-queues"},  # which dev has no queue for
    }.get(file.stem, set())
    assert broken("dev", yaml.safe_load(file.read_text())) == expected


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_no_job_breaks_a_rule_but_the_one_that_must_be_refused(environment: str) -> None:
    jobs = smoke_jobs(load(stack_file(ROOT, environment)).settings)
    assert {job.kind for job in jobs} >= {*KINDS} - {"slice", "gang that spans"}
    for job in jobs:
        expected = {"numa/admissible-shape"} if job.kind == REFUSED else set()
        assert broken(environment, job.manifest) == expected, job


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_kubelet_admits_the_shape_of_every_job_but_the_one_that_must_be_refused(
    environment: str,
) -> None:
    settings = load(stack_file(ROOT, environment)).settings
    for job in smoke_jobs(settings):
        pool, wanted = settings.pools[job.pool], limits(job)
        memory = wanted["memory"]
        number = int(memory.rstrip("GMi")) * (1024 if memory.endswith("Gi") else 1)
        request = ContainerRequest(
            gpus=0 if job.kind == "slice" else int(wanted[GPU]),
            cpus=int(wanted["cpu"]),
            memory_mib=number,
        )
        node = from_plan(pool.hardware, pool.plan, pool.launchable_memory_mib)
        assert admit(node, [request]).admitted == (job.kind != REFUSED), job


def test_research_runs_every_kind_and_a_pod_on_each_way_of_sharing() -> None:
    found = smoke_set(load(stack_file(ROOT, "research")).settings)
    assert found.left_out == {}
    names = {job.name.partition("/")[2] for job in found.jobs if job.kind == "slice"}
    assert names == {"smoke-slice-mig", "smoke-slice-time-slicing"}


def test_a_job_is_of_its_queues_team_and_for_its_pool() -> None:
    gang = by_kind(changed())["gang that rents"]
    assert (gang.name, gang.pool, gang.queue) == (
        "research-burst/smoke-gang-rented",
        "burst",
        "research-burst",
    )
    assert gang.path == (
        "/apis/batch.volcano.sh/v1alpha1/namespaces/research-burst/jobs/smoke-gang-rented"
    )
    labels = gang.template["metadata"]["labels"]
    assert (labels["fleet.gpu/team"], labels["fleet.gpu/cost-centre"]) == ("research", "4100")
    assert gang.template["spec"]["nodeSelector"] == {"fleet.gpu/pool": "burst"}
    assert gang.manifest["spec"]["queue"] == "research-burst"


def test_a_gang_on_a_rented_pool_has_what_karpenter_and_volcano_need() -> None:
    spec = by_kind(changed())["gang that rents"].manifest["spec"]
    assert spec["networkTopology"] == {"mode": "hard", "highestTierAllowed": 1}
    assert {"event": "PodEvicted", "action": "RestartJob"} in spec["policies"]
    assert spec["minAvailable"] == sum(task["replicas"] for task in spec["tasks"]) == 2


def test_all_jobs_fit_at_once_beside_a_gang_on_owned_machines() -> None:
    """Two machines: the gang takes half of each, and leaves room in the queue of sixteen."""
    gang = by_kind(changed())["gang on owned machines"]
    assert limits(gang)[GPU] == "4"
    assert gang.gpus == 8
    assert "podAntiAffinity" in gang.template["spec"]["affinity"]


def test_two_pods_of_a_gang_share_the_only_machine() -> None:
    made = small()
    del made["pools"]["dgx"]["machines"][1:]
    made["teams"]["research"]["queues"]["research"]["gpus"] = 8
    gang = by_kind(parse("dev", made))["gang on owned machines"]
    assert limits(gang)[GPU] == "2"
    assert "affinity" not in gang.template["spec"]


def test_a_small_queue_makes_small_gangs_and_one_that_is_too_small_makes_none() -> None:
    rented = "teams__research__queues__research-burst__gpus"
    assert by_kind(changed(**{rented: 9}))["gang that rents"].gpus == 8
    found = smoke_set(changed(**{rented: 1}))
    assert (
        "1 GPUs are there for queue 'research-burst' on pool 'burst'"
        in found.left_out["gang that rents"]
    )


def test_a_gang_asks_for_the_network_of_its_pool() -> None:
    owned = by_kind(changed(pools__dgx__fabric="infiniband"))
    assert limits(owned["gang on owned machines"])["rdma/rails"] == "1"
    assert "rdma/rails" not in limits(owned["one GPU"])
    on_the_host = by_kind(changed(pools__dgx__fabric="roce"))
    assert "rdma/rails" not in limits(on_the_host["gang on owned machines"])
    rented = by_kind(parse("dev", small(with_efa())))["gang that rents"]
    assert limits(rented)["vpc.amazonaws.com/efa"] == "32"


@pytest.mark.parametrize(
    ("sharing", "resource"),
    [
        ({"sharing": "mig", "mig_layout": {"3g.71gb": 2}}, "nvidia.com/mig-3g.71gb"),
        ({"sharing": "mig", "mig_layout": {"1g.18gb+me": 1}}, "nvidia.com/mig-1g.18gb.me"),
        ({"sharing": "time-slicing", "replicas": 4}, GPU),
    ],
)
def test_a_pool_that_shares_its_gpus_gets_a_pod_on_a_slice(
    sharing: dict[str, Any], resource: str
) -> None:
    made = small()
    made["teams"]["research"]["queues"]["research"]["gpus"] = 8
    made["pools"]["parts"] = {
        **made["pools"]["dgx"],
        **sharing,
        "purpose": "inference",
        "machines": [made["pools"]["dgx"]["machines"].pop()],
    }
    job = by_kind(parse("dev", made))["slice"]
    assert (job.pool, job.queue) == ("parts", "interactive")
    assert limits(job)[resource] == "1"
    assert job.template["spec"]["nodeSelector"] == {"fleet.gpu/pool": "parts"}


def test_the_shape_that_is_refused_follows_the_pools_kubelets() -> None:
    """Where a pod must be on one NUMA node, one with more GPUs than a node has is refused."""
    half_a_core = by_kind(changed())[REFUSED]
    assert (limits(half_a_core)["cpu"], limits(half_a_core)[GPU]) == ("7", "1")
    aligned = changed(pools__dgx__purpose="inference")
    policy = aligned.pools["dgx"].plan.kubelet["topologyManagerPolicy"]
    assert policy == "single-numa-node", "or another purpose must be taken here"
    assert int(limits(by_kind(aligned)[REFUSED])[GPU]) == 5


def test_kinds_that_an_environment_cannot_have_are_left_out_with_the_reason() -> None:
    assert smoke_set(changed()).left_out == {"slice": "no owned pool shares its GPUs"}
    made = small()
    made["pools"] = {"cpu": made["pools"]["cpu"]}
    for queue in made["teams"]["research"]["queues"].values():
        queue["gpus"] = 0
        queue.pop("pool", None)
    nothing = smoke_set(parse("dev", made))
    assert nothing.jobs == ()
    assert nothing.left_out["one GPU"] == "no owned pool has whole GPUs"
    assert nothing.left_out["gang that rents"] == "no pool rents machines with whole GPUs"


def spanning(gpus: int = 24) -> Settings:
    """Two owned machines and a burst, for the gangs of one queue."""
    return parse("dev", spanning_config(gpus))


def spanning_config(gpus: int = 24) -> Any:
    made = small()
    span = {"weight": 1, "gpus": gpus, "pools": ["dgx", "burst"]}
    made["teams"]["research"]["queues"] = {"span": span}
    return made


def test_a_gang_that_may_span_pools_is_one_machine_larger_than_the_owned_ones_and_comes_last() -> (
    None
):
    found = smoke_set(spanning())
    gang = found.spans
    assert gang is not None
    assert found.all[-1] == gang
    assert gang not in found.jobs
    assert (gang.name, gang.pools, gang.members, gang.gpus) == (
        "span/smoke-gang-spans",
        ("dgx", "burst"),
        3,
        24,
    )
    spec = gang.manifest["spec"]
    assert (spec["queue"], spec["minAvailable"]) == ("span", 3)
    assert "networkTopology" not in spec, "the API server refuses it"
    assert not {"nodeSelector", "affinity"} & gang.template["spec"].keys()
    assert broken_of(parse_environment("dev", spanning_config()), gang.manifest) == set()


def test_kubelets_of_both_pools_admit_the_pods_of_a_gang_that_spans() -> None:
    settings = spanning()
    gang = smoke_set(settings).spans
    assert gang is not None
    wanted = limits(gang)
    request = ContainerRequest(
        gpus=int(wanted[GPU]), cpus=int(wanted["cpu"]), memory_mib=int(wanted["memory"][:-2])
    )
    for pool in map(settings.pools.__getitem__, gang.pools):
        node = from_plan(pool.hardware, pool.plan, pool.launchable_memory_mib)
        assert admit(node, [request]).admitted


def test_machines_that_do_not_take_work_make_a_gang_that_spans_smaller() -> None:
    found = smoke_set(spanning(), machines={"dgx": 1, "burst": 2}).spans
    assert found is not None
    assert found.members == 2


def test_a_queue_too_small_for_a_gang_that_spans_is_said_and_one_gpu_stays_in_its_pools() -> None:
    found = smoke_set(spanning(16))
    assert found.spans is None
    assert found.left_out["gang that spans"] == (
        "queue 'span' has 16 GPUs, too few for the 2 machines of pool 'dgx' and one more"
    )
    why = "queue 'span' has `pools`, so that its gang spans them"
    assert found.left_out["gang on owned machines"] == why
    assert found.left_out["gang that rents"] == why
    assert {(job.kind, job.queue) for job in found.jobs if job.queue} == {
        ("one GPU", "span"),
        ("refused", "span"),
    }


def test_where_no_machine_of_a_kind_takes_work_no_gang_spans() -> None:
    found = smoke_set(spanning(), machines={"dgx": 2, "burst": 0})
    assert found.left_out["gang that spans"] == (
        "no machines, owned and rented, for a gang of queue 'span'"
    )


def test_machines_that_cannot_take_work_count_for_nothing() -> None:
    settings = changed()
    found = smoke_set(settings, machines={"dgx": 1, "burst": 0})
    kinds = {job.kind: job for job in found.jobs}
    assert "affinity" not in kinds["gang on owned machines"].template["spec"]
    assert found.left_out["gang that rents"] == "no machine of pool 'burst' can take work"


def test_without_teams_a_job_is_for_kubernetes_own_scheduler() -> None:
    made = small()
    made["teams"] = {}
    found = smoke_set(parse("dev", made))
    assert {(job.name, job.queue) for job in found.jobs} == {
        ("default/smoke-one-gpu", ""),
        ("default/smoke-refused", ""),
    }
    assert found.left_out["gang on owned machines"] == "no team has a queue on pool 'dgx'"


def test_all_pods_run_for_the_time_that_is_asked_for() -> None:
    for job in smoke_jobs(changed(), runs_for="24h"):
        assert job.template["metadata"]["annotations"]["fleet.gpu/runs-for"] == "24h"
