"""The workshop of the unit tests, for builds that are interrupted."""

from tests.unit.toolchain.conftest import started, workshop

__all__ = ["started", "workshop"]
