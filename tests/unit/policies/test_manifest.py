"""Durations and quantities as Kubernetes and Karpenter write them."""

from decimal import Decimal

import pytest

from policies.language.manifest import at, describe, quantity, seconds


@pytest.mark.parametrize(
    ("duration", "expected"),
    [
        ("30s", 30),
        ("10m", 600),
        ("1h30m", 5400),
        ("1h1m1s", 3661),
        ("0s", 0),
        ("720h", 2_592_000),
        ("Never", None),
        ("", None),
        ("90", None),
        ("1.5h", None),
        ("-5m", None),
        ("10m ", None),
        ("1d", None),
        (None, None),
        (600, None),
    ],
)
def test_a_duration_counts_whole_hours_minutes_and_seconds(
    duration: object, expected: int | None
) -> None:
    assert seconds(duration) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (16, Decimal(16)),
        ("16", Decimal(16)),
        (7.5, Decimal("7.5")),
        ("8000m", Decimal(8)),
        ("2Gi", Decimal(2) * 2**30),
        ("1.5Ki", Decimal(1536)),
        ("2k", Decimal(2000)),
        ("1e3", Decimal(1000)),
        ("5E", Decimal(5) * 10**18),
        ("-1", Decimal(-1)),
        (".5", Decimal("0.5")),
        ("5.", Decimal(5)),
        (" 5 ", Decimal(5)),
        ("1.0000000001", Decimal("1.000000001")),
        ("1e30", Decimal(10) ** 30),
        (10**40, Decimal(10) ** 40),
        (1e22, Decimal(10) ** 22),
        ("+5", Decimal(5)),
        *((none, Decimal(0)) for none in ("-", "+", ".", "Gi", "m", "-0", "0e3", "0n")),
        *((tiny, Decimal("1e-9")) for tiny in ("1n", "0.1n", "1e-30")),
        *((huge, Decimal(2**63 - 1)) for huge in ("8Ei", "99Ei", "9" * 25 + "Ki")),
        *((f"1{unit}i", Decimal(1024**power)) for power, unit in enumerate("KMGTPE", start=1)),
        *((f"1{unit}", Decimal(1000**power)) for power, unit in enumerate("kMGTPE", start=1)),
        *((f"1{unit}", Decimal(10) ** (-3 * power)) for power, unit in enumerate("mun", start=1)),
        ("abc", None),
        ("", None),
        ("8 Gi", None),
        ("٣", None),
        *((f"1{wrong}", None) for wrong in ("K", "ki", "Kb", "e", "e+", "i", "mm", "G i", "_0")),
        ("1e99999999999999999999", None),
        ("1..5", None),
        ("Ei", None),
        (" ", None),
        ("--1", None),
        (True, None),
        (None, None),
        ({}, None),
    ],
)
def test_a_quantity_has_one_value_however_it_is_written(
    value: object, expected: Decimal | None
) -> None:
    assert quantity(value) == expected


def test_a_path_through_something_that_is_no_mapping_ends_in_nothing() -> None:
    assert at({"spec": ["a"]}, "spec", "limits", "cpu") is None
    assert at({"spec": {"limits": {"cpu": 4}}}, "spec", "limits", "cpu") == 4


def test_an_object_is_called_by_its_name_or_by_what_its_name_begins_with() -> None:
    made = {"kind": "Workflow", "metadata": {"generateName": "sweep-"}}

    assert describe(made) == "Workflow 'sweep-'"
    assert describe({**made, "metadata": {"generateName": "a-", "name": "a-b"}}) == "Workflow 'a-b'"
    assert describe({"kind": "Workflow"}) == "Workflow without a name"
