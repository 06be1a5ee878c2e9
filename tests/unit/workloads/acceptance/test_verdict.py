"""What is accepted, what is refused, and what is only told."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hardware.catalogue import load
from tests.support.workloads.acceptance_logs import ACCEPTED, gemm, numa
from tests.support.workloads.nccl_output import H200, SIXTEEN_H100
from workloads.acceptance import verdict
from workloads.acceptance.__main__ import main

DGX = replace(load("dgx-h200"), nccl_all_reduce_busbw_gb_per_s=475.0)


def test_a_machine_that_reaches_the_catalogues_figure_is_accepted() -> None:
    found = verdict.all_reduce(H200, DGX)
    assert found.passed is True
    assert found.sentence == (
        "all_reduce over 8 GPUs reached 477.0 GB/s; at least 451.2 are expected (95% of 475)."
    )


def test_a_machine_below_it_is_refused() -> None:
    slow = H200.replace("476.96", "402.11").replace("476.98", "403.00")
    found = verdict.all_reduce(slow, DGX)
    assert found.passed is False
    assert "reached 403.0 GB/s" in found.sentence


def test_a_figure_that_nobody_can_be_cited_for_is_told_and_not_judged() -> None:
    found = verdict.all_reduce(H200, replace(DGX, nccl_all_reduce_busbw_gb_per_s=None))
    assert found.passed is None
    assert found.sentence.endswith("not judged, because the catalogue has no figure for dgx-h200.")


def test_wrong_values_and_missing_ranks_are_refused_whatever_the_speed() -> None:
    wrong = H200.replace("476.98      0", "476.98      7")
    assert "and 7 values were wrong" in verdict.all_reduce(wrong, DGX).sentence
    few = verdict.all_reduce(SIXTEEN_H100, replace(DGX, nccl_all_reduce_busbw_gb_per_s=None))
    assert few.passed is False
    assert few.sentence == "all_reduce over 0 GPUs reached 444.2 GB/s; dgx-h200 has 8."


@pytest.mark.parametrize(("share", "passed"), [(0.995, True), (0.99, True), (0.989, False)])
def test_a_pod_has_at_least_ninety_nine_hundredths_of_the_host(share: float, passed: bool) -> None:
    found = verdict.gemm(gemm(*[700.0] * 8), gemm(*[700.0 * share] * 8), DGX)
    assert found.passed is passed
    assert f"a ratio of {share:.3f}; at least 0.99 is expected" in found.sentence


def test_the_worst_gpu_is_named() -> None:
    found = verdict.gemm(gemm(*[700.0] * 8), gemm(*[700.0] * 5, 630.0, 700.0, 700.0), DGX)
    assert found.passed is False
    assert found.sentence.endswith("(worst: GPU 5 with 0.900).")


def test_a_measurement_without_a_result_or_a_gpu_is_refused() -> None:
    assert verdict.gemm("", gemm(*[700.0] * 8), DGX).passed is False
    found = verdict.gemm(gemm(*[700.0] * 8), gemm(*[700.0] * 7), DGX)
    assert found.sentence == ("8 GPUs were measured on the host and 7 in the pod; dgx-h200 has 8.")


def test_numa_nodes_as_in_the_catalogue_are_accepted() -> None:
    assert [each.passed for each in verdict.numa(numa(), DGX)] == [True, True]


@pytest.mark.parametrize(
    ("changed", "ending"),
    [
        ({"cpus": "56-111"}, "and the catalogue has CPUs 56-111,168-223."),
        ({"memory_mib": 900000}, "and the catalogue has 1048576 MiB."),
        ({"error": "Operation not permitted"}, "refused to bind memory to it (Operation not perm"),
        ({"pages": {"0": 20, "1": 16364}}, "and only 16364 of 16384 pages asked of it came from"),
        ({"pages": {}}, "and only 0 of 0 pages asked of it came from it."),
    ],
)
def test_a_numa_node_that_differs_is_refused(changed: dict[str, Any], ending: str) -> None:
    good, bad = verdict.numa(numa(**changed), DGX)
    assert (good.passed, bad.passed) == (True, False)
    assert ending in bad.sentence


def test_every_machine_of_the_probes_log_is_judged() -> None:
    other = json.dumps({"machine": "dgx-02", "nodes": json.loads(numa())["nodes"][:1]})
    found = verdict.numa(f"{numa()}\nnoise\n{other}\n", DGX)
    assert [each.passed for each in found] == [True, True, False]
    assert found[-1].sentence == "dgx-02 has NUMA nodes [0]; dgx-h200 has [0, 1]."


def test_the_command_says_each_verdict_and_fails_with_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in ACCEPTED.items():
        (tmp_path / f"{name}.log").write_text(text)
    given = ["judge", "--hardware", "dgx-h200", "--logs", str(tmp_path)]
    assert main(given) == 0
    assert capsys.readouterr().out.count("accepted") == 4
    (tmp_path / "nccl.log").unlink()
    assert main(given) == 1
    assert "REFUSED   nccl  the log of all_reduce_perf has no result" in capsys.readouterr().out
    assert main(["judge", "--hardware", "dgx-h2000"]) == 2
