"""`fleet diff`: what a changed stack file does, with real commits and no engine."""

import json
import tempfile
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fleet.cli import diff as verb
from fleet.cli.main import app
from fleet.diff.comparison import Difference, compare
from fleet.diff.markdown import markdown
from fleet.diff.versions import VersionError, version
from fleet.diff.words import of_kind, verdict
from fleet.validate.program import program
from policies.environment import load
from settings import SettingsError, stack_file
from tests.support.checkouts import Checkout, checkout

TODAY = date(2026, 11, 22)
NODES = {"nodes: 3": "nodes: 5"}
CPU_TUNING = {"housekeeping_cores_per_numa_node: 1": "housekeeping_cores_per_numa_node: 2"}
DGX = "tuning: {housekeeping_cores_per_numa_node: 4}\n      # Flatcar"
DGX_TUNING = {DGX: DGX.replace("4}", "6}")}
LATE = {"max_consolidate_after_minutes: 15": "max_consolidate_after_minutes: 5"}


@pytest.fixture
def dev(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    return checkout(tmp_path, monkeypatch, "Pulumi.dev.yaml")


@pytest.fixture
def prod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    return checkout(tmp_path, monkeypatch, "Pulumi.prod.yaml", "prod-dgx.csv")


def difference(at: Checkout, name: str = "dev", against: str = "HEAD") -> Difference:
    after = load(stack_file(at.root, name))
    return compare(version(at.root, name, against), after, against, TODAY)


def changed(at: Checkout, *changes: dict[str, str]) -> Difference:
    for change in changes:
        at.replace("Pulumi.dev.yaml", change)
    return difference(at)


def test_an_unchanged_stack_file_changes_nothing(dev: Checkout) -> None:
    found = difference(dev)
    assert verdict(found) == "dev against HEAD: nothing changes."
    assert (found.summary.pools, found.summary.others, found.rules) == ({}, (), ())
    assert found.summary.cost.fixed.change == found.summary.cost.burst.change == 0
    made = program(load(stack_file(dev.root, "dev"))).resources
    real = [each for each in made if not each.type.startswith(("gpu:", "pulumi:providers:"))]
    assert found.summary.unchanged + found.unknown == len(real)


def test_more_servers_are_nodes_and_usd_a_day(dev: Checkout) -> None:
    found = changed(dev, NODES)
    assert found.summary.pools == {"cpu": ("2 servers more (ccx33)",)}
    assert found.summary.sizes["cpu"].nodes == (3, 5)
    before, after = found.usd_per_day["cpu"]
    assert (before, after) == (15.85, 26.41)
    assert f"{found.unknown} resources have values that only a cloud knows" in markdown(found)
    assert found.unknown > 0
    assert verdict(found) == (
        "dev against HEAD: 1 pool changes; 10.56 USD a day more; no rule broken."
    )


def test_other_boot_data_replaces_servers_and_waits_on_owned_machines(dev: Checkout) -> None:
    found = changed(dev, CPU_TUNING, DGX_TUNING)
    replaced, tuned = found.summary.pools["cpu"]
    assert replaced == (
        "3 servers replaced one at a time, drained before and Ready before the next: boot data "
        "changed"
    )
    assert tuned.startswith("tuning changed: housekeeping CPUs 0-1 → 0-3, ")
    (kept,) = found.summary.pools["dgx"]
    assert kept.endswith("(the machines keep their old boot data until `fleet reinstall`)")
    reboots = {name: size.reboot for name, size in found.summary.sizes.items()}
    assert reboots == {"burst": "no", "cpu": "yes, 3 replaced", "dgx": "yes, to take it over"}
    (beyond,) = found.summary.beyond
    assert beyond.startswith("This update replaces or deletes 3 servers (fleet-dev-cpu-1, ")
    assert "gpu-fleet:allow.replace is 1; set it to 3" in beyond
    assert verdict(found).endswith("; `up` refuses it.")


def test_another_release_replaces_servers_by_their_image_and_no_owned_machine(
    dev: Checkout,
) -> None:
    release = {"gpu-fleet:versions:\n": "gpu-fleet:versions:\n    flatcar: 4593.2.4\n"}
    found = changed(dev, release, {"flatcar/4593.2.5": "flatcar/4593.2.4"})
    assert "3 servers replaced one at a time" in found.summary.pools["cpu"][0]
    assert "image changed" in found.summary.pools["cpu"][0]
    assert (
        "Flatcar 4593.2.5 → 4593.2.4: 2 machines keep their installation until "
        in (found.summary.pools["dgx"][0])
    )
    assert "BareMetalHost" not in " ".join(found.summary.others)


def test_karpenters_nodes_drift_and_its_limits_are_bursts(dev: Checkout) -> None:
    burst = {
        "spot: 8}": "spot: 16}",
        "consolidate_after_minutes: 10": "consolidate_after_minutes: 5",
    }
    found = changed(dev, burst)
    assert found.summary.pools == {
        "burst": ("burst limit 16 → 24 GPUs (spot 8 → 16)", "consolidateAfter 10m → 5m")
    }
    assert found.summary.cost.burst.change > 0
    assert "up to 955.20 USD a day more in bursts" in verdict(found)


def test_a_rule_that_the_change_breaks_names_its_keys_and_fails(
    dev: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    dev.replace("Pulumi.dev.yaml", LATE)
    said = run(dev, monkeypatch, "dev")
    assert said.exit_code == 1
    words = " ".join(said.stdout.split())
    assert words.startswith("dev against HEAD: 1 rule broken.") or "; 1 rule broken." in words
    assert "idle/gpu-node-pool: NodePool 'burst-reserved' has" in words
    assert "gpu-fleet:policies.idle/gpu-node-pool.max_consolidate_after_minutes" in words


def test_a_rule_broken_before_and_after_fails_nothing(dev: Checkout) -> None:
    dev.replace("Pulumi.dev.yaml", LATE)
    dev.commit()
    found = changed(dev, NODES)
    assert found.holds
    assert [change.rule for change in of_kind(found, "still broken")] == ["idle/gpu-node-pool"]


def test_a_mended_rule_is_told(dev: Checkout) -> None:
    dev.replace("Pulumi.dev.yaml", LATE)
    dev.commit()
    found = changed(dev, {new: old for old, new in LATE.items()})
    assert found.holds
    assert [change.rule for change in of_kind(found, "mended")] == ["idle/gpu-node-pool"]
    assert verdict(found).endswith("no rule broken, 1 mended.")


def test_what_one_change_may_cost_more_is_judged(dev: Checkout) -> None:
    budget = {
        "idle/gpu-node-pool:": "cost/change-budget: {usd_per_day: 5}\n    idle/gpu-node-pool:"
    }
    found = changed(dev, budget, NODES)
    assert [change.rule for change in of_kind(found, "broken")] == ["cost/change-budget"]


def test_a_machine_of_the_inventory_that_goes_at_once_is_refused(prod: Checkout) -> None:
    path = prod.root / "stacks" / "prod-dgx.csv"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    prod.replace("Pulumi.prod.yaml", {"gpus: 128": "gpus: 120"})
    found = difference(prod, "prod")
    assert found.summary.sizes["dgx"].nodes == (16, 15)
    (refused,) = found.summary.beyond
    assert refused.startswith("dgx-16 is a machine whose entry is gone, and it has not left: ")


def test_a_machine_that_leaves_is_drained(dev: Checkout) -> None:
    drive = 'system_drive_serial: "EXAMPLE-DEV-DGX-02"'
    found = changed(dev, {drive: f"{drive}, leaving: true"})
    assert found.summary.beyond == ()
    (told,) = found.summary.pools["dgx"]
    assert told.startswith("dev-dgx-02 leaves: its node is cordoned, and the update waits until")
    (takes,) = found.summary.takes
    assert takes.startswith("This update drains 1 machine (dev-dgx-02), which ends their pods; ")


def test_another_cluster_is_told(dev: Checkout) -> None:
    found = changed(dev, {"name: fleet-dev": "name: fleet-test"})
    assert found.summary.others[0].startswith("another cluster: every object of the old one is ")


def test_an_environment_that_the_commit_lacks_is_new(dev: Checkout) -> None:
    (dev.root / "stacks" / "Pulumi.trial.yaml").write_text(stack_file(dev.root, "dev").read_text())
    found = difference(dev, "trial")
    assert verdict(found).startswith("trial against HEAD: new, with 3 pools; ")
    assert found.summary.pools["cpu"] == ("new at hel1 for batch: 3 servers (ccx33)",)


def test_another_stack_file_is_compared_as_the_same_environment(dev: Checkout) -> None:
    other = dev.root / "stacks" / "before.yaml"
    other.write_text(stack_file(dev.root, "dev").read_text())
    dev.replace("Pulumi.dev.yaml", NODES)
    assert difference(dev, against=str(other)).summary.pools == {"cpu": ("2 servers more (ccx33)",)}


def test_a_version_that_todays_settings_refuse_is_told_with_its_place(dev: Checkout) -> None:
    line = 1 + stack_file(dev.root, "dev").read_text().splitlines().index("      nodes: 3")
    dev.replace("Pulumi.dev.yaml", {"nodes: 3": "nodes: three"})
    dev.commit()
    dev.replace("Pulumi.dev.yaml", {"nodes: three": "nodes: 3"})
    with pytest.raises(VersionError) as refused:
        difference(dev)
    assert str(refused.value) == (
        "HEAD cannot be compared, because today's settings refuse it: "
        f'HEAD:stacks/Pulumi.dev.yaml:{line}: gpu-fleet:pools.cpu.nodes is "three"; allowed: a '
        "whole number from 1 to 100."
    )


def test_a_mistake_of_today_is_told_as_always(dev: Checkout) -> None:
    with pytest.raises(SettingsError, match=r"Pulumi\.dev\.yaml:\d+: gpu-fleet:pools\.cpu\.nodes"):
        changed(dev, {"nodes: 3": "nodes: three"})


@pytest.mark.parametrize("name", ["nowhere", "-x", "HEAD~9", "a\0b"])
def test_what_is_no_commit_is_refused(dev: Checkout, name: str) -> None:
    with pytest.raises(VersionError, match=r"there is no file and no commit .* allowed: a branch"):
        version(dev.root, "dev", name)


def test_a_folder_without_git_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(VersionError, match=r"is no checkout that git can read .* --against FILE"):
        version(tmp_path, "dev", "HEAD")


def test_a_machine_without_git_is_told_what_to_give(
    dev: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(VersionError, match=r"git is not on PATH, .* --against FILE"):
        version(dev.root, "dev", "HEAD")


def test_inventory_files_above_the_checkout_are_read_from_the_commit(
    dev: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    text = stack_file(dev.root, "dev").read_text()
    machines = text[text.index("      machines:\n") : text.index("\n    # rented by")]
    entries = "".join(f"{line.strip()}\n" for line in machines.splitlines()[1:])
    listed = dev.root.parent / "machines.yaml"
    listed.write_text(entries)
    dev.replace("Pulumi.dev.yaml", {machines: "      inventory: ../../machines.yaml\n"})
    dev.commit()
    listed.write_text(entries.replace("dev-dgx-02", "dev-dgx-03"))
    (refused,) = difference(dev).summary.beyond
    assert refused.startswith("dev-dgx-02 is a machine whose entry is gone")
    assert [*temporary.iterdir()] == [], "nothing of the commit is left on this machine"


def run(at: Checkout, monkeypatch: pytest.MonkeyPatch, *words: str) -> Any:
    monkeypatch.setattr(verb, "ROOT", at.root)
    monkeypatch.chdir(at.root)
    return CliRunner().invoke(app, ["diff", *words])


def test_markdown_has_the_parts_of_the_comment(dev: Checkout) -> None:
    text = markdown(changed(dev, NODES, LATE))
    assert text.startswith("### ⛔ dev against HEAD: 1 pool changes; ")
    assert "- ⛔ [idle/gpu-node-pool](docs/policies.md#idlegpu-node-pool): broken by this" in text
    assert "| **cpu** | 3 → **5** | 0 | no | 2 servers more (ccx33) |" in text
    assert "| Cost in USD | before, a day | after, a day |" in text
    assert "ncomplete" not in text
    assert "engine" not in text
    assert "not checked until up" not in text


def test_json_has_what_changes_and_the_exit_code_is_0(
    dev: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    dev.replace("Pulumi.dev.yaml", NODES)
    said = run(dev, monkeypatch, "dev", "--json")
    assert said.exit_code == 0
    found = json.loads(said.stdout)
    assert (found["environment"], found["against"], found["holds"]) == ("dev", "HEAD", True)
    assert found["pools"] == {"cpu": ["2 servers more (ccx33)"]}
    assert found["usd_per_day"]["cpu"] == [15.85, 26.41]
    assert "errors" not in found


def test_the_table_fits_80_columns(dev: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    dev.replace("Pulumi.dev.yaml", {**NODES, "spot: 8}": "spot: 16}"})
    monkeypatch.setenv("COLUMNS", "80")
    text = run(dev, monkeypatch, "dev").stdout
    assert "cpu " in text
    assert "3 → 5" in text
    assert "up to 16 → 24" in text
    assert max(map(len, text.splitlines())) <= 80


def test_what_cannot_be_read_is_exit_code_2(dev: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(dev, monkeypatch, "dev", "--against", "nowhere").exit_code == 2
    assert run(dev, monkeypatch, "dve").exit_code == 2
    assert run(dev, monkeypatch, "dev", "--json", "--markdown").exit_code == 2
