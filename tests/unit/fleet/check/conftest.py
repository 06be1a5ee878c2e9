"""Files to check, in a folder of their own."""

import json
from pathlib import Path

import pytest

from tests.support.fleet_check import CONFIG_MAP
from tests.support.policies.node_pools import node_pool


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def bad() -> str:
    """A file with a NodePool that consolidates too late, on its second line."""
    pool = node_pool("spec.disruption.consolidateAfter", "60m")
    Path("bad.yaml").write_text(f"---\n{json.dumps(pool)}\n")
    return "bad.yaml"


@pytest.fixture
def good() -> str:
    """A file that no rule speaks of."""
    Path("good.yaml").write_text(json.dumps(CONFIG_MAP))
    return "good.yaml"
