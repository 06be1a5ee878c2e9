"""A team's queues: their bounds, their namespaces, and what a job in them must be."""

from collections.abc import Collection, Mapping
from typing import Any

import pytest

from components.platform.teams import Teams, TeamsArgs
from components.platform.volcano import Volcano, VolcanoArgs
from policies.rules.isolation.rbac_wildcards import RULE
from settings import Queue, Team
from tests.support.recorder import Registered, named, render

RENTED = frozenset({"burst"})
OWNER = {"fleet.gpu/team": "research", "fleet.gpu/cost-centre": "4100"}

BASELINE = {"pod-security.kubernetes.io/enforce": "baseline"}


def teams(
    rented: Collection[str] = RENTED,
    mig: Mapping[str, Mapping[str, int]] | None = None,
    kubernetes: str = "1.36.3",
) -> list[Registered]:
    research = Team(
        cost_centre="4100",
        groups=("oidc:research", "oidc:interns"),
        queues={
            "research": Queue(weight=4, gpus=32, pool="dgx", priorities=("research", "scavenger")),
            "research-burst": Queue(weight=2, gpus=16, pool="burst"),
            "trial": Queue(weight=1, gpus=8),
        },
    )
    risk = Team(cost_centre="4120", queues={"stress": Queue(weight=2, gpus=16)})

    def program() -> None:
        crds = Volcano("volcano", VolcanoArgs(pools={})).release
        shares = {"research": research, "risk": risk}
        pools = {"dgx": 32, "burst": 16}
        args = TeamsArgs(
            teams=shares,
            pools=pools,
            rented=frozenset(rented),
            crds=crds,
            mig=mig or {},
            kubernetes=kubernetes,
        )
        Teams("teams", args)

    return render(program)


def inputs(
    kind: str,
    rented: Collection[str] = RENTED,
    mig: Mapping[str, Mapping[str, int]] | None = None,
) -> Mapping[str, Any]:
    """The inputs of the resources of a kind by their names without the component's."""
    found = named(teams(rented, mig), kind)
    return {name.removeprefix("teams-"): each.inputs for name, each in found.items()}


def test_a_queue_has_its_share_and_its_most_gpus_and_waits_for_volcano() -> None:
    queue = named(teams(), "Queue")["teams-research-research"]
    assert queue.inputs["apiVersion"] == "scheduling.volcano.sh/v1beta1"
    assert queue.inputs["spec"] == {
        "weight": 4,
        "capability": {"nvidia.com/gpu": "32"},
        "deserved": {"nvidia.com/gpu": "18"},  # 4 of 7: trial and stress may run on the 32, too
        "reclaimable": True,
    }
    assert any(urn.endswith("::volcano-release") for urn in queue.depends_on)


def test_no_pod_of_a_queue_gets_access_to_its_node_whatever_the_rules_say() -> None:
    spaces = inputs("Namespace")
    assert len(spaces) == 4
    for space in spaces.values():
        assert space["metadata"]["labels"].items() >= BASELINE.items()


def test_nobody_ends_a_job_to_take_a_machine_that_could_be_rented() -> None:
    reclaimable = {name: each["spec"]["reclaimable"] for name, each in inputs("Queue").items()}
    assert [name for name, may in reclaimable.items() if not may] == ["research-research-burst"]


def test_a_queue_has_a_namespace_where_jobs_need_not_name_it_and_both_say_who_pays() -> None:
    space = inputs("Namespace")["research-trial-namespace"]["metadata"]
    assert (space["name"], space["labels"]) == ("trial", {**OWNER, **BASELINE})
    assert space["annotations"] == {"scheduling.volcano.sh/queue-name": "trial"}
    assert inputs("Queue")["research-trial"]["metadata"]["labels"] == OWNER


def test_the_pods_of_a_queue_are_reached_by_one_another_alone() -> None:
    policies = inputs("NetworkPolicy")
    assert len(policies) == len(inputs("Queue"))
    policy = policies["research-trial-network"]
    assert policy["metadata"]["namespace"] == "trial"
    assert policy["spec"] == {
        "podSelector": {},
        "policyTypes": ["Ingress"],
        "ingress": [{"from": [{"podSelector": {}}]}],
    }


def test_a_teams_groups_work_in_each_of_its_queues_and_other_teams_get_no_rights() -> None:
    bindings = inputs("RoleBinding")
    spaces = {each["metadata"]["namespace"] for each in bindings.values()}
    assert spaces == {"research", "research-burst", "trial"}, "risk has no groups"
    for binding in bindings.values():
        assert (binding["roleRef"]["kind"], binding["roleRef"]["name"]) == (
            "ClusterRole",
            "fleet-team",
        )
        assert [(each["kind"], each["name"]) for each in binding["subjects"]] == [
            ("Group", "oidc:research"),
            ("Group", "oidc:interns"),
        ]


def test_nobody_has_a_teams_rights_in_the_whole_cluster() -> None:
    assert inputs("ClusterRoleBinding") == {}


def test_the_rights_of_a_team_break_no_rule() -> None:
    assert RULE.predicate is not None
    (role,) = inputs("ClusterRole").values()
    assert RULE.predicate(role, RULE.defaults()) == []


def test_karpenter_never_sees_pods_of_a_job_beyond_its_queue() -> None:
    quotas = inputs("ResourceQuota")
    hard = {name: each["spec"]["hard"]["requests.nvidia.com/gpu"] for name, each in quotas.items()}
    assert hard["research-research-burst-quota"] == "16"
    assert (hard["research-trial-quota"], hard["risk-stress-quota"]) == ("8", "16")
    spaces = {name: each["metadata"]["namespace"] for name, each in quotas.items()}
    assert spaces["research-research-burst-quota"] == "research-burst"


@pytest.mark.parametrize("rented", [RENTED, ()])
def test_every_queue_has_a_quota(rented: Collection[str]) -> None:
    spaces = [each["metadata"]["namespace"] for each in inputs("ResourceQuota", rented).values()]
    assert sorted(spaces) == ["research", "research-burst", "stress", "trial"]


def test_on_owned_machines_a_job_of_each_class_has_room_for_its_pods() -> None:
    quotas = inputs("ResourceQuota")
    assert quotas["research-research-quota"]["spec"]["hard"] == {
        "requests.nvidia.com/gpu": str(2 * 32)
    }, "it has two classes"


def test_a_quota_counts_the_parts_of_the_gpus_of_its_own_pool() -> None:
    layout = {"1g.18gb": 2, "1g.18gb+me": 1}
    quotas = inputs("ResourceQuota", mig={"dgx": layout, "other": {"7g.141gb": 1}})
    assert quotas["research-research-quota"]["spec"]["hard"] == {
        "requests.nvidia.com/gpu": "64",
        "requests.nvidia.com/mig-1g.18gb": "128",
        "requests.nvidia.com/mig-1g.18gb.me": "64",
    }
    everywhere = quotas["research-trial-quota"]["spec"]["hard"]
    assert everywhere["requests.nvidia.com/mig-7g.141gb"] == "8", "it may use all pools"


def test_where_nothing_is_rented_gangs_run_anywhere() -> None:
    policy = inputs("ValidatingAdmissionPolicy", rented=())["rules"]
    assert len(policy["spec"]["validations"]) == 1, "the queue's own namespace is asked for still"


def test_the_rules_hold_in_every_queues_namespace_and_there_alone() -> None:
    policies = inputs("ValidatingAdmissionPolicy")
    for policy in policies.values():
        assert policy["spec"]["matchConstraints"]["namespaceSelector"] == {
            "matchExpressions": [{"key": "fleet.gpu/team", "operator": "Exists"}]
        }
    for space in inputs("Namespace").values():
        assert "fleet.gpu/team" in space["metadata"]["labels"]
    bindings = inputs("ValidatingAdmissionPolicyBinding").values()
    bound = {each["spec"]["policyName"] for each in bindings}
    assert bound == {each["metadata"]["name"] for each in policies.values()}
    assert all(each["spec"]["validationActions"] == ["Deny"] for each in bindings)


@pytest.mark.parametrize(("kubernetes", "taken"), [("1.35.4", 0), ("1.36.0", 1), ("1.40.0", 1)])
def test_requests_are_filled_in_where_the_api_server_knows_how(kubernetes: str, taken: int) -> None:
    assert len(named(teams(kubernetes=kubernetes), "MutatingAdmissionPolicy")) == taken


@pytest.mark.parametrize(
    ("position", "queues"),
    [(1, "['research-burst']"), (2, "['research-burst']"), (3, "['stress', 'trial']")],
)
def test_a_rule_for_gangs_names_the_queues_that_it_is_for(position: int, queues: str) -> None:
    policy = inputs("ValidatingAdmissionPolicy")["rules"]
    assert queues in policy["spec"]["validations"][position]["expression"]
