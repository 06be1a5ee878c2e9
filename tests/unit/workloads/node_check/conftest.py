"""The recorded machine."""

from pathlib import Path

import pytest

from tests.unit.workloads.node_check.tree import Dgx


@pytest.fixture
def dgx(tmp_path: Path) -> Dgx:
    return Dgx(tmp_path)
