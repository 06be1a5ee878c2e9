"""The Prometheus of the toolchain, for tests that run its programs."""

from pathlib import Path

import pytest

from tests.conformance.monitoring.promtool import Promtool
from tests.conftest import ROOT


def program(name: str) -> Path:
    """A program of the toolchain's Prometheus."""
    found = sorted((ROOT / ".toolchain" / "bin").glob(f"prometheus-*/{name}"))
    if not found:
        pytest.skip(f"{name} is not built; it is one of the toolchain's programs")
    return found[-1]


@pytest.fixture
def promtool(tmp_path: Path) -> Promtool:
    return Promtool(program=program("promtool"), folder=tmp_path)


@pytest.fixture(scope="session")
def prometheus() -> Path:
    return program("prometheus")
