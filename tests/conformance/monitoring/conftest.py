"""The Prometheus of the toolchain, for tests that run its programs."""

from pathlib import Path

import pytest

from tests.support.monitoring.promtool import Promtool
from toolchain.build import ensure


@pytest.fixture(scope="session")
def prometheus() -> Path:
    """The folder of prometheus and promtool, built before where they are not there."""
    return ensure(("prometheus",), console=None).path("prometheus").parent


@pytest.fixture
def promtool(prometheus: Path, tmp_path: Path) -> Promtool:
    return Promtool(program=prometheus / "promtool", folder=tmp_path)
