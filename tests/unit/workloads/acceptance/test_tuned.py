"""What the tuning gives is compared, told, and refused where it costs more than it gives."""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.conftest import ROOT
from workloads.acceptance import verdict
from workloads.acceptance.tuned import Comparison, compare, machine

PINNED = {
    "name": "pinned copies, host to GPU",
    "unit": "GB/s",
    "more_is_better": True,
    "tuned_by": "pinned memory",
    "untuned_by": "pageable memory",
    "tuned": 54.9666,
    "untuned": 8.1058,
}
PINNING = {
    **PINNED,
    "name": "pinning 4 GiB",
    "unit": "s",
    "more_is_better": False,
    "tuned": 0.108,
    "untuned": 0.184,
}


def log(*comparisons: dict[str, Any]) -> str:
    """What an H200 printed, with other comparisons."""
    result = {
        "day": "2026-11-22",
        "machine": {
            "gpus": "1 x NVIDIA H200",
            "driver": "580.159.04",
            "cpu": "Intel(R) Xeon(R) Processor",
            "kernel": "6.18.44",
        },
        "comparisons": comparisons,
        "missing": [{"name": "small AllReduce", "why": "it needs two GPUs and 1 is visible"}],
    }
    return f"== PyTorch ==\n{json.dumps(result)}\n"


def sentences(text: str) -> list[tuple[bool | None, str]]:
    return [(each.passed, each.sentence) for each in verdict.tuned(text)]


def test_a_result_names_its_day_machine_and_driver_and_what_was_not_measured() -> None:
    assert sentences(log(PINNED)) == [
        (
            None,
            (
                "2026-11-22, 1 x NVIDIA H200, driver 580.159.04, Intel(R) Xeon(R) Processor, "
                "Linux 6.18.44."
            ),
        ),
        (
            True,
            (
                "pinned copies, host to GPU: 55 GB/s with pinned memory, 8.11 with pageable "
                "memory, 6.78 times as good."
            ),
        ),
        (None, "small AllReduce was not measured: it needs two GPUs and 1 is visible."),
    ]


@pytest.mark.parametrize(
    "found",
    [{**PINNED, "tuned": 5.0}, {**PINNING, "tuned": 0.4}],
    ids=["more is better", "less is better"],
)
def test_a_tuned_side_that_is_the_slower_one_is_refused(found: dict[str, Any]) -> None:
    (_, judged, _) = sentences(log(found))
    assert judged[0] is False
    assert judged[1].endswith("at least 0.9 is expected.")


def test_seconds_are_better_the_fewer_they_are() -> None:
    (_, judged, _) = sentences(log(PINNING))
    assert judged == (
        True,
        (
            "pinning 4 GiB: 0.108 s with pinned memory, 0.184 with pageable memory, "
            "1.70 times as good."
        ),
    )


def test_a_log_without_a_result_is_refused() -> None:
    assert sentences("CUDA error\n") == [(False, "the log of the comparisons has no result.")]


def test_both_sides_take_turns_and_the_first_round_does_not_count() -> None:
    turns: list[str] = []

    def side(name: str, values: list[float]) -> tuple[str, Any]:
        def once() -> float:
            turns.append(name)
            return values.pop(0)

        return name, once

    sides = side("good", [99.0, 3.0, 1.0, 2.0]), side("bad", [0.0, 6.0, 4.0, 5.0])
    found = compare("x", "s", *sides, more_is_better=False, rounds=3)
    assert (found.tuned, found.untuned) == (2.0, 5.0)
    assert turns == ["good", "bad"] * 4


def test_without_pytorch_or_a_gpu_it_says_so_for_each_comparison() -> None:
    program = ROOT / "workloads" / "acceptance" / "tuned.py"
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, check=True, timeout=60
    )
    found = json.loads(done.stdout)
    assert found["comparisons"] == []
    assert {each["why"] for each in found["missing"]} <= {
        "PyTorch is not installed",
        "no GPU is visible",
    }
    assert len(found["missing"]) == 5
    assert found["machine"].keys() == machine().keys()


def test_a_comparison_is_what_the_judge_reads() -> None:
    assert Comparison.__annotations__.keys() == PINNED.keys()
