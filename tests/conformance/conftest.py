"""The CRDs of the toolchain."""

from pathlib import Path

import pytest

from toolchain.build import ensure


@pytest.fixture(scope="session")
def crds() -> Path:
    """The folder with one subfolder of CRDs a system."""
    return ensure(("crds",), console=None).crds
