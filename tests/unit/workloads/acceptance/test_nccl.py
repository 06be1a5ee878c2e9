"""all_reduce_perf's output, as different versions and launchers print it."""

import pytest

from tests.support.workloads.nccl_output import (
    H200,
    OLD,
    SIXTEEN_H100,
    WITH_RANKS_BEFORE_FIGURES,
)
from workloads.acceptance.nccl import parse


def test_a_run_on_eight_h200_is_read() -> None:
    run = parse(H200)
    (row,) = run.rows
    assert (run.ranks, row.size, row.busbw, row.busbw_in_place) == (8, 8589934592, 476.96, 476.98)
    assert (run.peak, run.wrong) == (476.98, 0)


def test_the_peak_is_that_of_the_largest_message() -> None:
    run = parse(SIXTEEN_H100)
    assert [row.size for row in run.rows][-1] == 2147483648
    assert len(run.rows) == 5
    assert run.peak == 444.25


def test_ranks_that_a_launcher_puts_before_figures_are_no_figures() -> None:
    run = parse(WITH_RANKS_BEFORE_FIGURES)
    assert [(row.busbw, row.busbw_in_place) for row in run.rows] == [(1.24, 0.87), (1.73, 9.65)]


def test_the_older_form_without_an_operation_is_read() -> None:
    assert parse(OLD).peak == 21.86
    assert parse(OLD.replace("0e+00    13.83", "3e-02    13.83")).wrong == 1


def test_wrong_values_are_counted_and_unchecked_ones_are_not() -> None:
    wrong = "476.96      0    31516  272.56  476.98      0"
    assert parse(H200.replace(wrong, "476.96      2    31516  272.56  476.98      1")).wrong == 3
    assert parse(H200.replace(wrong, "476.96    N/A    31516  272.56  476.98    N/A")).wrong == 0


def test_a_run_that_failed_has_no_result() -> None:
    with pytest.raises(ValueError, match="it failed before the first"):
        parse("h100: Test CUDA failure common.cu:893 'system not yet initialized'\n")
