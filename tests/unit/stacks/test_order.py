"""In every environment: what nodes need, then machines, then what runs on them."""

import pytest

from settings.names import RELEASE
from tests.support.environments import ENVIRONMENTS, resources
from tests.support.recorder import Registered

everywhere = pytest.mark.parametrize("environment", ENVIRONMENTS)
FIRST = {"cilium-release", "hetzner-cloud-controller"}
MACHINES = ("Server", "BareMetalHost")


def earlier(environment: str) -> dict[str, set[str]]:
    """For each resource the names of all that must be there before it or its component."""
    by_name = {each.name: each for each in resources(environment)}
    known: dict[str, set[str]] = {}

    def of(each: Registered) -> set[str]:
        if each.name not in known:
            known[each.name] = set()
            names = [name_of(urn) for urn in (*each.depends_on, each.parent)]
            direct = [by_name[name] for name in names if name in by_name]
            for other in direct:
                known[each.name] |= {other.name, *of(other)}
        return known[each.name]

    for each in resources(environment):
        of(each)
    return known


def name_of(urn: str) -> str:
    return urn.rpartition("::")[2]


@everywhere
def test_what_nodes_need_waits_for_no_pod_and_for_no_machine(environment: str) -> None:
    before = earlier(environment)
    for each in resources(environment):
        if each.name in FIRST:
            assert each.inputs["skipAwait"] is True
            assert not {name for name in before[each.name] if name.endswith("-ready")}


@everywhere
def test_machines_come_after_what_their_nodes_need_and_go_before_it(environment: str) -> None:
    before = earlier(environment)
    machines = [each.name for each in resources(environment) if each.kind in MACHINES]
    machines = [name for name in machines if not name.endswith("-gateway-server")]  # no nodes
    assert len(machines) > 4
    assert all(before[name] >= FIRST for name in machines)


@everywhere
def test_every_other_chart_waits_for_machines_that_can_run_it_and_not_for_gpus(
    environment: str,
) -> None:
    before = earlier(environment)
    charts = [each for each in resources(environment) if each.type == RELEASE]
    assert len(charts) == 10
    for chart in charts:
        if chart.name not in FIRST:
            ready = {name for name in before[chart.name] if name.endswith("-ready")}
            assert ready == {"cpu-ready"}, chart.name
            assert "skipAwait" not in chart.inputs
            assert chart.inputs.get("timeout", 300) in range(300, 1201)


@everywhere
def test_karpenter_is_there_as_long_as_anything_that_it_alone_can_end(environment: str) -> None:
    before = earlier(environment)
    ended = {"NodePool", "EC2NodeClass", "RentedMachines"}
    names = [each.name for each in resources(environment) if each.kind in ended]
    assert len(names) == 4
    assert all({"karpenter-controller", "karpenter-crd"} <= before[name] for name in names)
