"""Parsing a configuration: valid settings, and the sentence about each mistake."""

from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from pulumi_aws import Region

from policies import environment as environments
from settings import (
    AwsPoolSettings,
    BareMetalPoolSettings,
    HetznerPoolSettings,
    SettingsError,
    Versions,
    forms,
    how_to_set,
    needed_secrets,
    parse,
)
from tests.support.stack_settings import DIGEST, config, with_value, without

CASES = yaml.safe_load(Path(__file__).with_name("mistakes.yaml").read_text())


def mistakes(configuration: dict[str, object], environment: str = "dev") -> tuple[str, ...]:
    with pytest.raises(SettingsError) as caught:
        environments.parse(environment, configuration)
    assert str(caught.value) == "\n".join(caught.value.mistakes), "the text is all sentences"
    return caught.value.mistakes


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['at']}={case.get('value')}")
def test_a_mistake_is_one_sentence_with_its_path_and_what_is_allowed(case: dict[str, str]) -> None:
    wrong = without(case["at"]) if "absent" in case else with_value(case["at"], case["value"])
    assert case["says"] in mistakes(wrong)


def test_an_unknown_machine_is_answered_with_those_of_the_pools_kind() -> None:
    (unknown,) = mistakes(with_value("pools.dgx.hardware", "dgx-h20"))
    assert unknown.startswith('gpu-fleet:pools.dgx.hardware is "dgx-h20"; allowed: a bare-metal ')
    assert unknown.endswith("; the nearest is dgx-h200.")
    assert "ccx33" not in unknown
    (misplaced,) = mistakes(with_value("pools.cpu.hardware", "dgx-h200"))
    assert misplaced.startswith('gpu-fleet:pools.cpu.hardware is "dgx-h200"; allowed: a hetzner ')
    assert "ccx33" in misplaced
    (rented,) = mistakes(with_value("pools.burst.hardware", "ccx33"))
    assert "; allowed: an aws machine of the catalogue (" in rented


@pytest.mark.parametrize(
    ("hardware", "kind"),
    [("gex44", "hetzner-dedicated"), ("Standard_ND96isr_H200_v5", "azure")],
)
def test_a_machine_that_no_kind_of_pool_can_start_is_refused(hardware: str, kind: str) -> None:
    mistake, *_ = mistakes(with_value("pools.dgx.hardware", hardware))
    assert mistake.startswith(
        f'gpu-fleet:pools.dgx.hardware is "{hardware}", a machine of kind {kind}, which no kind '
        "of pool can start; allowed: a bare-metal machine of the catalogue (dgx-a100, "
    )


@pytest.mark.parametrize("kind", ["hetzner-dedicated", "azure"])
def test_a_kind_that_has_machines_but_no_pool_is_refused(kind: str) -> None:
    sentence = f'gpu-fleet:pools.cpu.kind is "{kind}"; allowed: bare-metal, aws, hetzner.'
    assert sentence in mistakes(with_value("pools.cpu.kind", kind))


def test_one_wrong_value_makes_one_sentence() -> None:
    assert len(mistakes(with_value("pools.cpu.nodes", 0))) == 1
    limits = with_value("pools.burst.gpu_limits", {"spo": 8})
    assert len(mistakes(limits)) == 1, "not short as well"


def test_all_mistakes_of_a_file_come_at_once() -> None:
    configuration = with_value("pools.dgx.site", "frankfurt")
    configuration["budget"] = {"usd_per_day": -1}
    configuration["queues"] = {}
    configuration["teams"] = {
        "research": {"cost_centre": "4100", "queues": {"research": {"weight": 0, "gpus": 8}}}
    }
    configuration["policies"] = {"idle/gpu-node-pool": {"max_consolidate_after_minutes": "ten"}}
    pools = configuration["pools"]
    assert isinstance(pools, dict)
    pools["cpu"] |= {"nodes": 0, "hardware": "ccx34"}
    found = mistakes(configuration, "Dev")
    places = [text.split(" is ")[0] for text in found]
    assert sorted(places) == [
        "gpu-fleet:budget.usd_per_day",
        "gpu-fleet:policies.idle/gpu-node-pool.max_consolidate_after_minutes",
        "gpu-fleet:pools.cpu.hardware",
        "gpu-fleet:pools.cpu.nodes",
        "gpu-fleet:pools.dgx.site",
        "gpu-fleet:queues",
        "gpu-fleet:teams.research.queues.research.weight",
        "the environment's name",
    ]


def test_a_queue_is_not_judged_while_the_fleets_gpus_are_unknown() -> None:
    configuration = with_value("pools.dgx.purpose", "trading")
    assert len(mistakes(configuration)) == 1, "32 GPUs may be right once the pool is"


def test_without_any_pool_queues_are_not_called_too_large() -> None:
    (mistake,) = mistakes(with_value("pools", {}))
    assert mistake == (
        "gpu-fleet:pools has no entry; allowed: one or more, each with a kind of bare-metal, aws, "
        "hetzner."
    )


def test_a_mistake_stays_on_its_line_whatever_the_file_holds() -> None:
    configuration = with_value("pools.dgx.site", "fra\n\x1b[2J")
    configuration["po\nols"] = {}
    found = mistakes(configuration)
    assert all(text.isprintable() for text in found)
    assert found[1].startswith('gpu-fleet:pools.dgx.site is "fra\\n\\x1b[2J"; allowed: ')


def test_an_image_of_another_release_is_listed_with_the_other_mistakes() -> None:
    configuration = with_value("versions.flatcar", "4593.2.4")
    configuration["budget"] = {"usd_per_day": 0}
    places = {text.split(" is ")[0] for text in mistakes(configuration)}
    assert places == {"gpu-fleet:budget.usd_per_day", "gpu-fleet:pools.dgx.image.url"}


def test_a_second_region_is_refused_because_karpenter_works_in_one() -> None:
    configuration = config()
    sites, pools = configuration["sites"], configuration["pools"]
    assert isinstance(sites, dict)
    assert isinstance(pools, dict)
    sites["us-west-2"] = {"kind": "aws", "region": "us-west-2", "cidr": "10.13.0.0/16"}
    parse("dev", configuration)  # a site without a pool is no second region
    pools["west"] = {**pools["burst"], "site": "us-west-2"}
    (mistake,) = mistakes(configuration)
    assert mistake == (
        'gpu-fleet:pools.west.site is "us-west-2"; allowed: us-east-1, the site of the other pools '
        "of kind aws, because Karpenter works in one region."
    )


def test_a_right_configuration_becomes_frozen_settings() -> None:
    settings = parse("dev", config())
    assert settings.environment == "dev"
    assert settings.cluster.ca_cert_hash == DIGEST
    dgx, burst, cpu = (settings.pools[name].declared for name in ("dgx", "burst", "cpu"))
    assert isinstance(dgx, BareMetalPoolSettings)
    assert isinstance(burst, AwsPoolSettings)
    assert isinstance(cpu, HetznerPoolSettings)
    assert [machine.name for machine in dgx.machines] == ["dgx-01", "dgx-02"]
    assert burst.gpu_limits == {"reserved": 8, "spot": 8}
    assert burst.gpu_limit == 16, "the sum bounds the pool"
    assert dgx.tuning.isolation == "shared", "the default of Tuning"
    assert settings.budget.usd_per_day == 3000
    with pytest.raises(AttributeError):
        dgx.site = "elsewhere"  # type: ignore[misc]  # that it is frozen is what is tested


def test_versions_and_teams_may_be_left_out() -> None:
    configuration = config()
    pools = configuration["pools"]
    assert isinstance(pools, dict)
    for name in ("dgx", "burst"):
        del pools[name]
    for section in ("teams", "versions", "policies"):
        del configuration[section]
    settings = parse("dev", configuration)
    assert settings.versions == Versions()
    assert dict(settings.teams) == {}
    held = environments.parse("dev", configuration).rule_settings["cost/daily-budget"]
    assert held == {"usd_per_day": 3000}, "the budget's own"


def test_a_budget_of_the_rules_own_goes_before_the_environments() -> None:
    configuration = config()
    configuration["policies"] = {"cost/daily-budget": {"usd_per_day": 7, "level": "advisory"}}
    held = environments.parse("dev", configuration).rule_settings["cost/daily-budget"]
    assert held == {"usd_per_day": 7, "level": "advisory"}


def exempt(resource: str) -> dict[str, str]:
    until, where = "2027-01-31", {"resource": resource, "namespace": "rings"}
    return {**where, "owner": "desk", "reason": "a gang", "until": until}


BASELINE = (
    "jobs run in the namespaces of queues, where the API server refuses host access by Pod "
    "Security baseline, whatever is exempt here."
)


def test_an_exemption_that_pod_security_would_not_know_is_refused_with_that_reason() -> None:
    configuration = config()
    configuration["policies"] = {
        "isolation/host-access": {
            "namespaces": ["kube-system", "research"],
            "exemptions": [exempt("Job/gang"), {**exempt("Pod/x"), "namespace": "research"}],
        }
    }
    with pytest.raises(SettingsError) as caught:
        environments.parse("dev", configuration)
    path = "gpu-fleet:policies.isolation/host-access"
    allowed = f"allowed: a namespace of no queue: {BASELINE}"
    assert caught.value.mistakes == (
        f'{path}.namespaces is "research"; {allowed}',
        f'{path}.exemptions[1].namespace is "research"; {allowed}',
    )


def test_an_exemption_from_host_access_holds_in_the_namespace_that_it_names() -> None:
    configuration = config()
    entries: list[dict[str, str]] = []
    configuration["policies"] = {"isolation/host-access": {"exemptions": entries}}
    for resource in ("Job/gang", "DaemonSet/dns", "*"):
        entries[:] = [{**exempt(resource), "namespace": "bench"}]
        assert environments.parse("dev", configuration).rules
        entries[:] = [{**exempt(resource), "namespace": "research"}]
        (refused,) = mistakes(configuration)
        assert refused == (
            "gpu-fleet:policies.isolation/host-access.exemptions[0].namespace is "
            f'"research"; allowed: a namespace of no queue: {BASELINE}'
        )


def test_a_gang_on_roce_may_have_the_hosts_network_until_a_day_outside_the_queues() -> None:
    configuration = with_value("pools.dgx.fabric", "roce")
    said: dict[str, object] = {"exemptions": [exempt("Job/gang")]}
    configuration["policies"] = {"isolation/host-access": said}
    assert environments.parse("dev", configuration).rules
    said["namespaces"] = ["research"]
    (refused,) = mistakes(configuration)
    assert refused.endswith(
        f'namespaces is "research"; allowed: a namespace of no queue: {BASELINE}'
    )


def test_secrets_are_passed_over_and_never_shown() -> None:
    configuration = config()
    configuration["hcloud_token"] = "abcdef.0123456789abcdef"
    assert "0123456789abcdef" not in repr(parse("dev", configuration))
    configuration["budget"] = None
    assert "0123456789abcdef" not in "".join(mistakes(configuration))


def test_an_environment_needs_the_secrets_of_its_pool_kinds_alone() -> None:
    configuration = config()
    del configuration["lakefs"], configuration["monitoring"]
    assert needed_secrets(parse("dev", configuration)) == (
        "kubeconfig",
        "hcloud_token",
        "bmc_username",
        "bmc_password",
    )
    pools = configuration["pools"]
    assert isinstance(pools, dict)
    del pools["dgx"]
    configuration["teams"] = {}
    assert needed_secrets(parse("dev", configuration)) == (
        "kubeconfig",
        "hcloud_token",
    )


@pytest.mark.parametrize(
    ("pools", "because"),
    [
        (("dgx",), "the nodes of dgx take only pods that tolerate nvidia.com/gpu"),
        (("burst",), "the machines of burst are made by Karpenter, which must run before them"),
    ],
)
def test_an_environment_on_which_no_controller_could_run_is_refused(
    pools: tuple[str, ...], because: str
) -> None:
    """Volcano, Prometheus and Karpenter itself would wait for a node for ever."""
    configuration = config()
    declared = configuration["pools"]
    assert isinstance(declared, dict)
    configuration["pools"] = {name: declared[name] for name in pools}
    configuration["monitoring"] = {"storage_class": "ceph-block"}
    configuration["teams"] = {}
    (mistake,) = mistakes(configuration)
    assert mistake == (
        "gpu-fleet:pools has no pool that can run the cluster's own controllers: "
        f"{because}; allowed: a pool of your own or at Hetzner besides, with hardware without "
        "GPUs, such as kind hetzner with ccx33."
    )


def test_an_environment_with_lakefs_needs_its_secrets_too() -> None:
    names = needed_secrets(parse("dev", config()))
    assert [name for name in names if name.startswith("lakefs_")] == [
        "lakefs_access_key_id",
        "lakefs_secret_access_key",
        "lakefs_auth_encrypt_key",
        "lakefs_database",
    ]


def test_the_certificate_of_lakefs_needs_a_load_balancer_of_hetzner() -> None:
    configuration = with_value("lakefs.tls_secret", "lakefs-tls")
    assert parse("dev", configuration).lakefs is not None
    pools = configuration["pools"]
    assert isinstance(pools, dict)
    del pools["cpu"]
    configuration["monitoring"] = {"storage_class": "ceph-block"}
    mistake = mistakes(configuration)[0]
    assert mistake == (
        'gpu-fleet:lakefs.tls_secret is "lakefs-tls", but no pool is of kind hetzner, whose load '
        "balancer would serve the endpoint; allowed: no tls_secret, and your own ingress."
    )


def test_an_environment_with_a_pager_needs_its_key() -> None:
    assert needed_secrets(parse("dev", config()))[-1] == "pagerduty_routing_key"


def test_the_command_for_a_secret_does_not_hold_its_value() -> None:
    command = "pulumi config set --secret gpu-fleet:hcloud_token --stack prod"
    assert how_to_set("hcloud_token", "prod") == command


def test_rules_know_which_pools_have_spot_machines_and_which_share_gpus() -> None:
    configuration = config()
    pools = configuration["pools"]
    assert isinstance(pools, dict)
    pools["burst"] |= {"gpu_limits": {"reserved": 8, "spot": 8}, "reserved_until": "2027-01-31"}
    pools["dgx"] |= {"purpose": "inference", "sharing": "time-slicing", "replicas": 4}
    found: Any = environments.parse("dev", configuration).rule_settings["facts"]["pools"]
    held = {pool["name"]: pool for pool in found}
    assert (held["burst"]["spot"], held["dgx"]["spot"]) == (True, False)
    assert (held["burst"]["shares_gpus"], held["dgx"]["shares_gpus"]) == (False, True)
    assert held["burst"]["reserved_until"] == "2027-01-31"
    assert "reserved_until" not in held["dgx"]


def test_rules_know_what_each_queue_may_hold_and_which_classes_its_pods_may_name() -> None:
    configuration = config()
    teams = configuration["teams"]
    assert isinstance(teams, dict)
    teams["research"]["queues"]["research"]["priorities"] = ["production"]
    usual = ["research", "interactive", "scavenger"]
    held = environments.parse("dev", configuration).rule_settings["facts"]["queues"]
    queues = [
        {
            "name": name,
            "team": owner,
            "gpus": one["gpus"],
            "weight": one["weight"],
            "priorities": one.get("priorities", usual),
        }
        for owner, team in teams.items()
        for name, one in team["queues"].items()
    ]
    assert queues
    assert held == queues


def test_the_regions_are_those_of_the_provider_that_makes_everything_there() -> None:
    others = ("cn-", "eusc-", "us-gov-", "us-iso", "eu-iso")
    known = {each.value for each in Region if not each.value.startswith(others)}
    assert set(get_args(forms.Region)) == known
