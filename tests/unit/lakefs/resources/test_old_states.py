"""A stack whose state was written by 0.1.0 can still be updated and destroyed."""

import subprocess
import sys

import pytest

from lakefs.resources.repository import RepositoryProvider
from tests.conftest import ROOT

OF_0_1_0 = {
    "action": "ActionProvider",
    "administrator": "AdministratorProvider",
    "branch_protection": "BranchProtectionProvider",
    "gc_rules": "GcRulesProvider",
    "repository": "RepositoryProvider",
}
LOAD = "import pickle, sys; print(type(pickle.loads(bytes.fromhex(sys.argv[1]))).__module__)"


@pytest.mark.parametrize(("module", "provider"), OF_0_1_0.items())
def test_the_provider_that_an_old_state_names_is_found(module: str, provider: str) -> None:
    pickled = f"ccomponents.platform.lakefs.{module}\n{provider}\n".encode()
    pickled = b"\x80\x04" + pickled + b")\x81."  # an instance without attributes
    # in a process of its own, as the engine loads it: nothing of ours is imported there yet
    command = (sys.executable, "-c", LOAD, pickled.hex())
    found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert found.stdout.strip() == f"lakefs.resources.{module}"


def test_a_provider_of_another_module_is_updated_in_place_and_never_replaced() -> None:
    state = {"endpoint": "https://lakefs.fleet.example", "name": "ticks", "__provider": "of 0.1.0"}
    found = RepositoryProvider().diff("ticks", state, {**state, "__provider": "of today"})
    assert found.changes, "else refresh and destroy load what the state names, for good"
    assert not found.replaces
