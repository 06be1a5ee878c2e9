"""The workshop of the unit tests, for builds that are interrupted."""

from tests.unit.toolchain.conftest import workshop

__all__ = ["workshop"]
