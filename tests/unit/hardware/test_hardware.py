"""The catalogue: every file is valid, and a wrong one is refused with its property."""

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import jsonschema
import pytest
import yaml

from hardware.cpuset import parse_list
from hardware.hardware import CATALOGUE, USD_PER_EUR, HardwareError, load, names, parse

every_machine = pytest.mark.parametrize("name", names())


def entry(name: str) -> dict[str, Any]:
    value: dict[str, Any] = yaml.safe_load((CATALOGUE / f"{name}.yaml").read_text())
    return value


def test_the_catalogue_has_the_machines_of_the_environments() -> None:
    assert {"dgx-h200", "p5e.48xlarge", "p5en.48xlarge", "ccx33"} <= set(names())


def test_the_schema_is_a_schema() -> None:
    schema = json.loads((CATALOGUE / "schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)


@every_machine
def test_every_machine_loads(name: str) -> None:
    assert load(name).name == name


@every_machine
def test_cpus_are_numbered_without_gaps(name: str) -> None:
    hardware = load(name)
    assert parse_list(hardware.cpus) == set(range(hardware.cpu_count))


@every_machine
def test_every_unverified_fact_is_a_property_of_the_file(name: str) -> None:
    for fact in load(name).unverified:
        top, _, inner = fact.partition(".")
        value = entry(name)[top]
        assert not inner or inner in value[0], f"{fact} of {name} names nothing"


@every_machine
def test_a_price_that_is_not_verified_stands_among_the_unverified_facts(name: str) -> None:
    hardware = load(name)
    assert hardware.price.verified is ("price" not in hardware.unverified)


@every_machine
def test_every_machine_has_a_price_for_the_budget(name: str) -> None:
    assert load(name).usd_per_hour is not None


def test_a_dgx_h200_is_wired_as_its_sources_say() -> None:
    dgx = load("dgx-h200")
    assert [node.cpus for node in dgx.numa_nodes] == ["0-55,112-167", "56-111,168-223"]
    assert [gpu.numa_node for gpu in dgx.gpus] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert (dgx.cpu_count, dgx.memory_gib, dgx.gpu_count, dgx.threads_per_core) == (224, 2048, 8, 2)
    assert dgx.nvswitch


def test_siblings_are_the_threads_of_one_core() -> None:
    assert load("dgx-h200").siblings(3) == {3, 115}
    assert load("ccx33").siblings(3) == {2, 3}


def test_a_cpu_that_is_not_there_has_no_siblings() -> None:
    with pytest.raises(HardwareError, match="ccx33 has no CPU 8; its CPUs are 0-7"):
        load("ccx33").siblings(8)


def test_a_rented_machine_costs_its_on_demand_price() -> None:
    assert load("p5en.48xlarge").usd_per_hour == 63.296


def test_a_rented_machine_without_on_demand_price_costs_its_reserved_one() -> None:
    assert load("p5e.48xlarge").usd_per_hour == 39.8


def test_an_owned_machine_costs_its_amortised_price() -> None:
    assert load("dgx-h200").usd_per_hour == load("dgx-h200").price.amortised_per_hour


def test_prices_in_eur_are_shown_in_usd() -> None:
    assert load("ccx33").usd_per_hour == round(0.1897 * USD_PER_EUR, 4)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("dgx-h20", "nearest: dgx-h200"),
        ("p5e.48xlage", "nearest: p5e.48xlarge, p5en.48xlarge"),
        ("zzz", "known: ccx33, dgx-h200"),
        ("../pyproject", "known: "),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(HardwareError, match=hint):
        load(name)


def _set(*path: Any, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(machine: dict[str, Any]) -> None:
        target: Any = machine
        for part in path[:-1]:
            target = target[part]
        target[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_set("kind", value="gcp"), r"\$.kind: 'gcp' is not one of"),
        (_set("colour", value="red"), "'colour' was unexpected"),
        (_set("numa_nodes", 0, "memory_gib", value="1 TB"), r"\$.numa_nodes\[0\].memory_gib"),
        (_set("price", "date", value="today"), r"\$.price.date"),
        (_set("numa_nodes", 1, "id", value=2), "numbered from 0 in order"),
        (_set("numa_nodes", 1, "threads", value=["56-", "1"]), r'"56-" is no CPU'),
        (_set("numa_nodes", 1, "threads", value=["0-55"]), "stands in two lists"),
        (
            _set("numa_nodes", 0, "threads", value=["0-3", "112-167"]),
            "the first must be the longest",
        ),
        (_set("gpus", 7, "numa_node", value=2), r"\$.gpus\[7\].numa_node: 2.*NUMA nodes 0 to 1"),
        (_set("nics", 0, "numa_node", value=9), r"\$.nics\[0\].numa_node: 9"),
    ],
)
def test_a_wrong_entry_is_refused_with_file_and_property(
    change: Callable[[dict[str, Any]], None], says: str
) -> None:
    machine = deepcopy(entry("dgx-h200"))
    change(machine)
    with pytest.raises(HardwareError, match=f"^mine.yaml: .*{says}"):
        parse("mine", machine, where="mine.yaml")


def test_cores_with_and_without_smt_can_stand_in_one_node() -> None:
    machine = deepcopy(entry("ccx33"))
    machine["numa_nodes"] = [{"id": 0, "threads": ["0,2,4-6", "1,3"], "memory_gib": 32}]
    hybrid = parse("hybrid", machine, where="hybrid.yaml")
    assert hybrid.cores() == tuple(map(frozenset, ([0, 1], [2, 3], [4], [5], [6])))
    assert hybrid.threads_per_core == 2
