"""The recorded machine."""

from pathlib import Path

import pytest

from tests.support.workloads.dgx_tree import Dgx


@pytest.fixture
def dgx(tmp_path: Path) -> Dgx:
    return Dgx(tmp_path)
