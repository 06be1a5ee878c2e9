"""Kernel CPU lists, read and written, and CPU masks, read."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardware.cpuset import CpusetError, format_list, parse_list, parse_mask
from tests.support.cpu_masks import cpu_mask

CPUS = st.frozensets(st.integers(0, 1023), max_size=300)


@given(CPUS)
def test_a_list_is_read_back_as_the_set_it_was_written_from(cpus: frozenset[int]) -> None:
    assert parse_list(format_list(cpus)) == cpus


@given(CPUS)
def test_a_mask_of_the_kernel_is_read_as_its_cpus(cpus: frozenset[int]) -> None:
    assert parse_mask(cpu_mask(cpus)) == cpus


@given(CPUS)
def test_a_list_has_no_ranges_that_could_be_joined(cpus: frozenset[int]) -> None:
    text = format_list(cpus)
    ends = [part.split("-") for part in text.split(",") if part]
    gaps = [int(after[0]) - int(before[-1]) for before, after in pairwise(ends)]
    assert all(gap > 1 for gap in gaps)


def test_a_mask_has_the_highest_group_first() -> None:
    assert parse_mask("ff,00000001") == {0, *range(32, 40)}


def test_a_list_may_have_strided_groups() -> None:
    assert parse_list("0-9:2/4,20") == {0, 1, 4, 5, 8, 9, 20}


def test_the_empty_list_has_no_cpu() -> None:
    assert parse_list("") == frozenset()
    assert format_list(()) == ""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0-", '"0-" is no CPU'),
        ("0,,1", '"" is no CPU'),
        ("a", '"a" is no CPU'),
        ("3-1", "ends before it begins"),
        ("0-7:3/2", "must use 1 to 2 CPUs of 2"),
        ("0-7:0/2", "must use 1 to 2 CPUs of 2"),
        ("0-8192", "beyond the kernel limit 8191"),
        ("0 1", '"0 1" is no CPU'),
        ("-1", '"-1" is no CPU'),
    ],
)
def test_a_malformed_list_is_refused_with_the_part_that_is_wrong(text: str, says: str) -> None:
    with pytest.raises(CpusetError, match=says):
        parse_list(text)


@pytest.mark.parametrize("text", ["", "g", "123456789", "1,", "0x1"])
def test_a_malformed_mask_is_refused(text: str) -> None:
    with pytest.raises(CpusetError, match="is not a group of 1 to 8 hexadecimal digits"):
        parse_mask(text)
