"""A clone that nobody has bootstrapped: the packs say what they need, and need nothing else."""

import re
import subprocess
import sys
import tomllib

import pytest

from tests.conftest import ROOT

REQUIREMENTS = ROOT / "policies" / "requirements.txt"
PACKS = ("cost", "idle", "isolation", "numa")
WITHOUT_THE_REST = """
import re
import sys
from importlib.metadata import PackageNotFoundError, packages_distributions, requires

def plain(name):
    return re.sub("[-_.]+", "-", re.match("[A-Za-z0-9_.-]+", name)[0]).lower()

def with_needed(names, found):
    for name in names - found:
        found.add(name)
        try:
            needed = {plain(each) for each in requires(name) or () if "extra ==" not in each}
        except PackageNotFoundError:
            continue
        with_needed(needed, found)
    return found

allowed = with_needed({plain(each) for each in sys.argv[1:]}, set())
of_module = packages_distributions()

class OnlyThese:
    def find_spec(self, name, path=None, target=None):
        owners = {plain(each) for each in of_module.get(name.partition(".")[0], ())}
        if owners and "gpu-fleet" not in owners and not owners & allowed:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, OnlyThese())
import policies.gates.pack
import policies.environment
"""


def requirements() -> list[str]:
    lines = REQUIREMENTS.read_text().splitlines()
    return [line for line in lines if not line.startswith("#")]


def test_the_ranges_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {*requirements()} <= {*project["dependencies"]}


@pytest.mark.parametrize("pack", PACKS)
def test_each_pack_has_the_file_that_pulumi_advises_to_install(pack: str) -> None:
    assert (ROOT / "policies" / pack / "requirements.txt").read_text() == "-r ../requirements.txt\n"


def test_the_packs_need_no_other_package() -> None:
    names = [re.split("[<>=]", line)[0] for line in requirements()]

    done = subprocess.run(
        (sys.executable, "-c", WITHOUT_THE_REST, *names),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
