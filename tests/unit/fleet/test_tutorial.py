"""The tutorial: each diff applies to the shipped file, is valid, and does what the page says."""

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from fleet.validate.judging import validate
from settings import ResolvedPool, load
from tests.conftest import ROOT
from tests.unit.fleet.test_readme import commands

PAGE = (ROOT / "docs" / "tutorial.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```\n", PAGE, re.MULTILINE | re.DOTALL)
DIFFS = [text for kind, text in BLOCKS if kind == "diff"]
TOLD = [text for kind, text in BLOCKS if not kind]
FILE = Path("stacks/Pulumi.dev.yaml")


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The stack file as it is shipped, and after each change."""
    checkout = tmp_path_factory.mktemp("tutorial")
    (checkout / "stacks").mkdir()
    (checkout / FILE).write_text((ROOT / FILE).read_text())
    git = shutil.which("git")
    assert git
    subprocess.run([git, "init", "--quiet"], cwd=checkout, check=True)
    found = []
    for number in range(len(DIFFS) + 1):
        if number:
            apply = [git, "apply", "-"]
            subprocess.run(apply, cwd=checkout, check=True, input=DIFFS[number - 1], text=True)
        folder = checkout / str(number)
        folder.mkdir()
        (folder / FILE.name).write_text((checkout / FILE).read_text())
        found.append(folder / FILE.name)
    return found


def pools(path: Path) -> Mapping[str, ResolvedPool]:
    return load(path).pools


def test_there_are_four_changes_and_each_has_its_lines_of_the_report() -> None:
    assert len(DIFFS) == len(TOLD) == 4
    titles = re.findall(r"^## \d\. (.*)$", PAGE, re.MULTILINE)
    assert len(titles) == 4


@pytest.mark.parametrize("number", range(5))
def test_after_each_change_the_file_is_valid_and_breaks_no_rule(
    steps: list[Path], number: int
) -> None:
    found = validate(steps[number])
    assert found.mistakes == ()
    assert found.broken == ()


def test_each_row_of_a_pool_is_what_the_file_then_says(steps: list[Path]) -> None:
    rows = 0
    for number, told in enumerate(TOLD, 1):
        for sign, line in re.findall(r"^([+-])(\S+ +\S+ +\S+ +\d+ .*)$", told, re.MULTILINE):
            site, name, hardware, nodes = line.split()[:4]
            pool = pools(steps[number if sign == "+" else number - 1])[name]
            assert (site, hardware) == (pool.site, pool.hardware.name)
            assert int(nodes) == pool.gpus // pool.hardware.gpu_count
            assert float(line.split()[-1]) == pytest.approx(
                int(nodes) * (pool.hardware.usd_per_hour or 0), abs=0.02
            )
            rows += 1
    assert rows == 3


def test_the_cost_that_a_change_tells_is_the_price_of_its_machines(steps: list[Path]) -> None:
    costs = re.findall(r"cost +([\d.]+) → ([\d.]+) USD per hour \(\+([\d.]+) per day\)", PAGE)
    price = pools(steps[0])["dgx"].hardware.usd_per_hour or 0
    assert len(costs) == 2
    for before, after, a_day in costs:
        assert float(after) - float(before) == pytest.approx(price, abs=0.02)
        assert float(a_day) == pytest.approx(price * 24, abs=0.5)


def test_without_the_budget_the_first_change_breaks_the_rule_that_is_named(
    steps: list[Path], tmp_path: Path
) -> None:
    path = tmp_path / FILE.name
    path.write_text(steps[1].read_text().replace("usd_per_day: 4000", "usd_per_day: 3000"))
    (broken,) = validate(path).broken
    told = re.search(r"`cost/daily-budget: … (.*)`", PAGE)
    assert told
    assert told[1] in broken


def test_the_notebooks_have_the_slices_that_are_told(steps: list[Path]) -> None:
    sharing = pools(steps[2])["notebooks"].sharing
    assert sharing is not None
    assert sharing.mig_layout == {"1g.18gb": 7}
    queue = load(steps[2]).teams["research"].queues["interactive"]
    told = re.search(r"the queue has (\d+) of them, 7 for each of its (\d+) GPUs", PAGE)
    assert told
    assert int(told[2]) == queue.gpus
    assert int(told[1]) == 7 * queue.gpus


def test_a_release_changes_every_place_that_names_one(steps: list[Path]) -> None:
    text = steps[4].read_text()
    assert text.count("4593.2.4") == 3
    assert "4593.2.5" not in text
    assert load(steps[4]).allow.replace == len([*range(3)])


def test_its_commands_are_those_of_the_program() -> None:
    typed = {words[0] for words in commands(PAGE)}
    assert typed == {"rehearse", "validate", "rehearse-stop", "reinstall"}
