"""Who reaches the program's own namespaces, and what pods of teams do not."""

from collections.abc import Mapping
from typing import Any

import pytest
from pulumi_kubernetes.core.v1 import Namespace

from components.platform.lakefs.values import S3, Serving, chart_values
from components.platform.system_network import (
    OPEN_PORTS,
    SystemNetwork,
    SystemNetworkArgs,
)
from settings.names import METAL3_PREFIX, TEAM_LABEL, owner_labels
from tests.support.environments import ENVIRONMENTS, resources, resources_of, resources_with_efa
from tests.support.recorder import Registered, named, render
from tests.support.stack_settings import with_value

everywhere = pytest.mark.parametrize("environment", ENVIRONMENTS)
TEAM = owner_labels("research", "4100")
MONITORING = {"kubernetes.io/metadata.name": "monitoring"}


def policies(environment: str) -> dict[str, Registered]:
    """The policy of each namespace that has one, those of teams apart, by namespace."""
    return of_namespaces(resources(environment))


def of_namespaces(found: tuple[Registered, ...]) -> dict[str, Registered]:
    policies = named(found, "NetworkPolicy").values()
    return {space(each): each for each in policies if space(each) in namespaces(found)}


def namespaces(found: tuple[Registered, ...]) -> set[str]:
    """The namespaces that the program makes and pods run in, those of teams apart."""
    own = [metadata(each) for each in named(found, "Namespace").values()]
    by_hand = {str(each["name"]) for each in own if TEAM_LABEL not in each.get("labels", {})}
    releases = [each.inputs for each in named(found, "Release").values()]
    by_chart = {str(each["namespace"]) for each in releases if each.get("createNamespace")}
    # in those of Metal3 there are hosts and Secrets alone
    return {each for each in by_hand | by_chart if not each.startswith(METAL3_PREFIX)}


def space(policy: Registered) -> str:
    return str(metadata(policy)["namespace"])


def metadata(resource: Registered) -> Mapping[str, Any]:
    found: Mapping[str, Any] = vars(resource)["inputs"]["metadata"]
    return found


def admits(policy: Registered, namespace: Mapping[str, str], port: int) -> bool:
    """Whether a pod of a namespace with these labels, not the policy's own, reaches a port."""
    spec: Any = policy.inputs["spec"]
    return any(_from(rule, namespace) and _to(rule, port) for rule in spec["ingress"])


def _from(rule: Mapping[str, Any], namespace: Mapping[str, str]) -> bool:
    return "from" not in rule or any(
        each["namespaceSelector"]["matchLabels"].items() <= namespace.items()
        for each in rule["from"]
        if "namespaceSelector" in each
    )


def _to(rule: Mapping[str, Any], port: int) -> bool:
    return "ports" not in rule or port in {int(each["port"]) for each in rule["ports"]}


@everywhere
def test_each_of_the_programs_namespaces_lets_nobody_in_by_default(environment: str) -> None:
    found = policies(environment)
    assert set(found) == namespaces(resources(environment))
    assert len(found) >= len(OPEN_PORTS), "some are made in each environment"
    for policy in found.values():
        spec: Any = policy.inputs["spec"]
        assert spec["podSelector"] == {}
        assert spec["policyTypes"] == ["Ingress"]


def test_the_namespaces_of_efa_let_nobody_in_either() -> None:
    found = resources_with_efa()
    assert "fleet-rdma" in namespaces(found)
    assert set(of_namespaces(found)) == namespaces(found)


@pytest.mark.parametrize(
    ("namespace", "port"),
    [
        ("monitoring", 9090),  # Prometheus
        ("monitoring", 9093),  # Alertmanager, whose silences need no password
        ("monitoring", 3000),  # Grafana
        ("volcano-system", 8080),
        ("gpu-operator", 9400),  # DCGM's exporter
        ("kured", 8080),
    ],
)
@everywhere
def test_a_pod_of_a_team_reaches_no_program_of_the_platform(
    environment: str, namespace: str, port: int
) -> None:
    policy = policies(environment)[namespace]
    assert not admits(policy, TEAM, port)
    assert admits(policy, MONITORING, port), "Prometheus reads the metrics"


@pytest.mark.parametrize(
    ("namespace", "port"), [("monitoring", 10250), ("volcano-system", 8443), ("lakefs", 8000)]
)
@everywhere
def test_the_api_server_reaches_the_webhooks_and_jobs_reach_lakefs(
    environment: str, namespace: str, port: int
) -> None:
    assert admits(policies(environment)[namespace], {}, port)


def test_the_port_of_lakefs_is_the_charts_own() -> None:
    values = chart_values("lakefs", None, S3(region="eu-west-1"), Serving())
    assert "deployment" not in values, "the chart's default is 8000"


@everywhere
def test_a_policy_comes_after_what_makes_its_namespace(environment: str) -> None:
    releases = {
        "gpu-operator": "gpu-operator-release",
        "kured": "kured-release",
        "lakefs": "lakefs-server-release",
        "monitoring": "monitoring-release",
        "fleet-join-tokens": "join-tokens-namespace",
        "fleet-node-check": "node-check-namespace",
        "fleet-rdma": "rdma-namespace",
        "fleet-scratch": "scratch-namespace",
        "volcano-system": "volcano-release",
    }
    for name, policy in policies(environment).items():
        assert any(urn.endswith(f"::{releases[name]}") for urn in policy.depends_on)


def bmc_policy(environment: str) -> Mapping[str, Any]:
    found = named(resources(environment), "CiliumClusterwideNetworkPolicy")["system-network-bmcs"]
    spec: Mapping[str, Any] = vars(found)["inputs"]["spec"]
    return spec


@everywhere
def test_pods_of_teams_never_reach_a_bmc_and_lose_no_other_way(environment: str) -> None:
    hosts = named(resources(environment), "BareMetalHost").values()
    specs: list[Any] = [each.inputs["spec"] for each in hosts]
    addresses = {spec["bmc"]["address"].split("/")[2] for spec in specs}
    assert addresses
    policy = bmc_policy(environment)
    assert policy["egressDeny"] == [{"toCIDR": sorted(f"{each}/32" for each in addresses)}]
    assert policy["enableDefaultDeny"] == {"egress": False, "ingress": False}


@everywhere
def test_the_pods_of_teams_are_those_of_namespaces_with_their_label(environment: str) -> None:
    (requirement,) = bmc_policy(environment)["endpointSelector"]["matchExpressions"]
    start = "k8s:io.cilium.k8s.namespace.labels."
    assert requirement["operator"] == "Exists"
    label = requirement["key"].removeprefix(start)
    assert requirement["key"].startswith(start)
    of_volcano = [each for each in resources(environment) if each.type.endswith("v1beta1:Queue")]
    queues = {metadata(each)["name"] for each in of_volcano}
    spaces = named(resources(environment), "Namespace").values()
    held = {metadata(each)["name"] for each in spaces if label in metadata(each).get("labels", {})}
    assert held == queues


def denied(machine: str, **site: str) -> list[str]:
    """Where pods of teams never go, with another address of the first BMC and more of its site."""
    changed: Any = with_value("pools.dgx.machines.0.bmc_address", machine)
    changed["sites"]["fra"] |= site
    policy = named(list(resources_of(changed)), "CiliumClusterwideNetworkPolicy")
    spec: Any = policy["system-network-bmcs"].inputs["spec"]
    return list(spec["egressDeny"][0]["toCIDR"])


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("redfish-virtualmedia+https://10.1.2.3/redfish/v1/Systems/1", "10.1.2.3/32"),
        ("ipmi://10.1.2.4:623", "10.1.2.4/32"),
        ("redfish+https://[fd00::7]/redfish/v1", "fd00::7/128"),
    ],
)
def test_each_form_of_a_bmcs_address_is_kept_from_pods_of_teams(address: str, found: str) -> None:
    assert found in denied(address)


def test_a_bmc_with_a_name_is_kept_from_pods_of_teams_by_the_range_of_its_site() -> None:
    named_bmc = "redfish-virtualmedia+https://bmc-1.fleet.example/redfish/v1/Systems/1"
    assert denied(named_bmc, bmc_cidr="10.10.250.0/24") == ["10.10.250.0/24", "10.10.250.12/32"]


def test_without_a_bmc_there_is_no_policy_of_cilium() -> None:
    def program() -> None:
        made = Namespace("made")
        SystemNetwork("network", SystemNetworkArgs(namespaces={"kured": made}))

    assert not named(render(program), "CiliumClusterwideNetworkPolicy")
