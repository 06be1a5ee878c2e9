"""What is deployed costs, by the state of a stack."""

from pathlib import Path
from typing import Any

import pytest

from fleet.preview.deployed import usd_per_day, usd_per_day_of_stack
from tests.support.policies.machines import host, node_pool, server


def state(*resources: dict[str, Any]) -> dict[str, Any]:
    return {"version": 3, "deployment": {"resources": list(resources)}}


def entry(manifest: dict[str, Any]) -> dict[str, Any]:
    """A resource as the engine keeps it."""
    if ":" in manifest["kind"]:
        urn = f"urn:pulumi:dev::gpu-fleet::{manifest['kind']}::cpu-1"
        return {"urn": urn, "type": manifest["kind"], "inputs": manifest["spec"]}
    kind = f"kubernetes:x/v1:{manifest['kind']}"
    return {"urn": f"urn:pulumi:dev::gpu-fleet::{kind}::x", "type": kind, "inputs": manifest}


def test_the_machines_of_a_state_are_counted_as_the_budget_counts_them() -> None:
    found = state({"urn": "u", "type": "pulumi:pulumi:Stack"}, entry(host()), entry(server()))

    assert usd_per_day(found) == pytest.approx((18.83 + 0.2201) * 24, abs=0.01)
    assert usd_per_day(state(entry(node_pool(16)))) == pytest.approx(2 * 41.61 * 24)


@pytest.mark.parametrize("empty", [state(), {"version": 3, "deployment": None}, {}, []])
def test_a_state_without_machines_says_nothing(empty: object) -> None:
    assert usd_per_day(empty) is None


def test_a_state_that_cannot_be_read_says_nothing(tmp_path: Path) -> None:
    assert usd_per_day_of_stack(tmp_path, "dev", tmp_path / "no-pulumi", {}) is None
