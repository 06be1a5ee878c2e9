"""Fixtures that every layer shares."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of upstream schemas beside the checkout; conformance tests skip without it."""
    folder = ROOT.parent / "shared"
    if not (folder / "schemas").is_dir():
        pytest.skip("upstream schemas are not beside this checkout (../shared/schemas)")
    return folder
