"""An engine that runs."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import psutil
import pytest

from tests.support.engine_process import engine_process


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[psutil.Process]:
    """A process that is named as the engine is."""
    with engine_process(tmp_path) as process:
        yield process


def at(time: datetime) -> str:
    """A time as a lock tells it."""
    return time.isoformat(timespec="seconds")
