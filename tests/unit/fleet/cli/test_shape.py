"""`fleet shape`: its answers, its JSON and how it ends."""

import json

import pytest
from typer.testing import CliRunner, Result

from fleet.cli.main import app

ASKED = ("--gpus", "8", "--cpus", "96", "--memory-gib", "800")


def shape(*words: str) -> Result:
    return CliRunner().invoke(app, ["shape", *words])


def test_a_pod_that_no_policy_lets_in_ends_with_code_one_and_the_nearest_that_is() -> None:
    result = shape("dgx-h200", *ASKED, "--policy", "single-numa-node")

    assert result.exit_code == 1
    assert "Not admitted (TopologyAffinityError): single-numa-node wants one NUMA" in result.stdout
    assert "Nearest that is admitted: 4 GPUs instead of 8; everything is on" in result.stdout


def test_an_admitted_pod_that_is_not_aligned_is_told_where_it_lies_and_what_would_be() -> None:
    result = shape("dgx-h200", *ASKED)

    assert result.exit_code == 0
    assert "Admitted: best-effort takes it, but not aligned" in result.stdout
    assert "CPUs 2-49,114-161 of NUMA node 0; memory on 0-1, gpus on 0-1." in result.stdout
    assert "Nearest that is aligned: 114 CPUs instead of 96" in result.stdout


def test_the_json_has_the_verdict_and_the_nearest_request() -> None:
    result = shape("dgx-h200", *ASKED, "--policy", "restricted", "--json")
    found = json.loads(result.stdout)

    assert result.exit_code == 1
    assert (found["admitted"], found["reason"]) == (False, "TopologyAffinityError")
    assert (found["policy"], found["scope"], found["placed"]) == ("restricted", "pod", None)
    assert found["nearest"]["request"]["cpus"] == 114
    assert found["nearest"]["request"]["gpus"] == 8


def test_a_purpose_brings_its_own_policy() -> None:
    found = json.loads(shape("dgx-h200", *ASKED, "--purpose", "inference", "--json").stdout)

    assert found["policy"] == "single-numa-node"


def test_a_machine_is_taken_to_have_the_pages_that_are_asked_for() -> None:
    asked = ("--cpus", "8", "--memory-gib", "8", "--hugepages-1gi", "100", "--json")
    found = json.loads(shape("dgx-h200", *asked).stdout)
    fewer = json.loads(shape("dgx-h200", *asked, "--set", "hugepages_1gi_per_numa_node=30").stdout)

    assert found["admitted"]
    assert fewer["reason"] == "Insufficient"
    assert fewer["nearest"]["changes"] == ["60 pages of 1 GiB instead of 100"]


def test_a_pool_keeps_the_pages_that_it_has() -> None:
    asked = ("--cpus", "8", "--memory-gib", "8", "--hugepages-1gi", "129", "--json")
    found = json.loads(shape("dev/dgx", *asked).stdout)

    assert found["reason"] == "Insufficient"


def test_a_machine_alone_has_a_table_of_its_largest_pods() -> None:
    result = shape("dgx-h200", "--policy", "single-numa-node")

    assert result.exit_code == 0
    assert "Largest pods that an empty dgx-h200 admits" in result.stdout
    assert "1017.5 GiB" in result.stdout


def test_the_largest_pods_may_be_asked_for_one_number_of_gpus() -> None:
    found = json.loads(shape("dgx-h200", "--gpus", "8", "--json").stdout)
    none = shape("dgx-h200", "--gpus", "8", "--policy", "single-numa-node", "--json")

    assert [entry["gpus"] for entry in found["shapes"]] == [8]
    assert found["shapes"][0]["aligned"] == {"cpus": 216, "memory_mib": 2083840}
    assert (none.exit_code, json.loads(none.stdout)["shapes"]) == (1, [])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["dgx-h20", *ASKED], "nearest: dgx-h200"),
        (["dgx-h200", "--policy", "strict"], "allowed: none, best-effort, restricted, single-numa"),
        (["dgx-h200", "--scope", "node"], "allowed: container, pod"),
        (["dgx-h200", "--cpus", "8"], "--cpus and --memory-gib go together"),
        (["dgx-h200", "--cpus", "8", "--memory-gib", "nan"], "are finite numbers"),
        (["dgx-h200", "--cpus", "inf", "--memory-gib", "8"], "are finite numbers"),
        (["dgx-h200", "--hugepages-1gi", "8"], "give --cpus and --memory-gib, too"),
        (["dgx-h200", "--gpus", "-1", "--cpus", "1", "--memory-gib", "1"], "-1; allowed: a whole"),
        (["dgx-h200", "--gpus", "-1"], "--gpus is -1; allowed: a whole number of 0 or more"),
        (["dgx-h200", *ASKED, "--hugepages-1gi", "2000"], "hugepages"),
    ],
)
def test_a_wrong_request_is_refused_in_a_sentence(words: list[str], sentence: str) -> None:
    result = shape(*words)

    assert result.exit_code == 2
    assert sentence in result.stderr
    assert result.stdout == ""
