"""`fleet plan` and `fleet explain`: what they show, compare and refuse."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from fleet.cli.main import app
from fleet.plan.description import describe
from fleet.plan.difference import difference
from fleet.plan.subject import SubjectError, subject
from ignition.plan.not_set import NOT_SET
from tests.conftest import ROOT


def fleet(*words: str) -> Result:
    return CliRunner().invoke(app, words)


def test_a_machine_is_shown_with_its_sets_and_the_reason_and_source_of_each_line() -> None:
    shown = fleet("plan", "dgx-h200", "--purpose", "inference").stdout

    assert "0-1,112-113" in shown
    assert "single-numa-node" in shown
    assert "a served model fits the GPUs of one NUMA node" in shown
    assert "https://docs.kernel.org/admin-guide/cpu-isolation.html" in shown
    assert "Unverified catalogue data" in shown


def test_an_address_stays_in_one_piece_on_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    shown = fleet("plan", "dgx-h200").stdout.splitlines()

    address = "https://kubernetes.io/docs/tasks/administer-cluster/reserve-compute-resources/"
    assert f"      {address}" in shown


def test_every_line_of_the_plan_stands_in_the_json_with_its_value() -> None:
    found = json.loads(fleet("plan", "dgx-h200", "--json").stdout)
    plan = subject(ROOT, "dgx-h200", None, ()).plan

    values = {(line["group"], line["key"]): line["value"] for line in found["lines"]}
    assert len(values) == len(plan.reasons)
    assert values["kernel argument", "irqaffinity"] == plan.housekeeping
    assert values["kubelet", "reservedMemory"] == plan.kubelet["reservedMemory"]
    assert values["sysctl", "vm.dirty_bytes"] == plan.sysctls["vm.dirty_bytes"]
    assert found["numa_nodes"][1]["gpus"] == [4, 5, 6, 7]


def test_a_pool_is_planned_with_its_own_purpose_and_choices() -> None:
    pool = subject(ROOT, "dev/dgx", None, ())

    assert pool.hardware.name == "dgx-h200"
    assert pool.tuning.housekeeping_cores_per_numa_node == 4
    assert pool.plan.purpose == "training"


def test_a_choice_goes_over_what_the_pool_chose() -> None:
    changed = subject(ROOT, "dev/dgx", "inference", ["hugepages_1gi_per_numa_node=2"])

    assert changed.plan.purpose == "inference"
    assert changed.tuning.housekeeping_cores_per_numa_node == 4
    assert changed.plan.nodes[1].hugepages_1gi == 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["dgx-h20"], "nearest: dgx-h200"),
        (["dev/gone"], 'dev has no pool "gone"; it has dev/burst, dev/cpu, dev/dgx.'),
        (["gone/dgx"], 'no environment "gone"'),
        (["dgx-h200", "--purpose", "gaming"], '--purpose is "gaming"; allowed: training,'),
        (["dgx-h200", "--set", "isolation"], "is not KEY=VALUE"),
        (["dgx-h200", "--set", "isolaton=shared"], 'did you mean "isolation"?'),
        (["dgx-h200", "--set", "isolation=none"], 'tuning.isolation is "none"; allowed:'),
        (["dgx-h200", "--set", "isolation=[", "--json"], "its value is no YAML"),
        (["ccx33", "--set", "housekeeping_cores_per_numa_node=4"], "allowed is 1 to 3"),
        (
            ["diff", "/etc/hostname", "dgx-h200"],
            '"/etc/hostname" names no plan; allowed: a machine',
        ),
        (["diff", "dgx-h200", "gone.json"], "gone.json cannot be read as JSON"),
    ],
)
def test_what_names_no_plan_is_one_sentence(words: list[str], sentence: str) -> None:
    ended = fleet("plan", *words)

    assert ended.exit_code == 2
    assert sentence in ended.stderr.replace("\n", " ")
    assert ended.stdout == ""


def test_a_file_that_is_no_plan_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"hardware": "dgx-h200"}')

    ended = fleet("plan", "diff", "dgx-h200", str(tmp_path / "other.json"))

    assert ended.exit_code == 2
    assert "is no plan" in ended.stderr


def test_more_hugepages_are_a_kernel_argument_and_need_a_reboot() -> None:
    before = subject(ROOT, "dgx-h200", None, ["hugepages_1gi_per_numa_node=2"])
    after = subject(ROOT, "dgx-h200", None, ["hugepages_1gi_per_numa_node=4"])

    found = difference(describe(before), describe(after))

    told = {change.key: (change.before, change.after, change.needs) for change in found.changes}
    assert told["hugepagesz=1G"] == ("0:2,1:2", "0:4,1:4", "reboot")
    assert found.reboot


def test_another_topology_policy_needs_no_reboot_but_a_kubelet_without_its_state() -> None:
    lines = [{"group": "kubelet", "key": "topologyManagerPolicy", "value": "best-effort"}]
    before = {"hardware": "a", "purpose": "b", "digest": "c", "lines": lines}
    after = {**before, "lines": [{**lines[0], "value": "restricted"}]}

    found = difference(before, after)

    assert [(change.before, change.after) for change in found.changes] == [
        ("best-effort", "restricted")
    ]
    assert "without its state files" in found.changes[0].needs
    assert not found.reboot


@pytest.mark.parametrize(
    "choices", [["extra_module_options=[NVreg_EnableMSI=1]"], ["isolation=exclusive"]]
)
def test_what_is_read_at_boot_alone_needs_a_reboot(choices: list[str]) -> None:
    machine = "ccx33" if choices == ["isolation=exclusive"] else "dgx-h200"
    before, after = (subject(ROOT, machine, "realtime", given) for given in ([], choices))

    found = difference(describe(before), describe(after))

    (needs,) = {
        change.needs
        for change in found.changes
        if change.key.startswith(("options nvidia", "systemd CPUAffinity"))
    }
    assert needs == "reboot"
    assert found.reboot


def test_a_drawing_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    ended = fleet("plan", "dgx-h200", "--svg", str(tmp_path / "gone" / "dgx.svg"))

    assert ended.exit_code == 2
    assert "cannot be used: No such file or directory" in ended.stderr.replace("\n", " ")


def test_a_plan_that_was_kept_is_compared_with_todays(tmp_path: Path) -> None:
    kept = tmp_path / "before.json"
    kept.write_text(fleet("plan", "dgx-h200", "--json").stdout)

    same = fleet("plan", "diff", "dgx-h200", str(kept))
    other = fleet("plan", "diff", str(kept), "dev/dgx")

    assert "Nothing changes on a node." in same.stdout
    assert "irqaffinity" in other.stdout
    assert "Reboot needed: yes" in other.stdout


def test_a_line_is_explained_with_its_reason_source_and_place() -> None:
    (found,) = json.loads(fleet("explain", "irqaffinity", "--json").stdout)

    assert "housekeeping" in found["line"]["reason"]
    assert found["line"]["source"].startswith("https://docs.kernel.org/")
    assert "dgx-h200" in found["hardware"]


def test_a_line_that_no_plan_has_is_refused_with_the_nearest() -> None:
    ended = fleet("explain", "isolcpsu")

    assert ended.exit_code == 2
    assert "nearest: isolcpus" in ended.stderr.replace("\n", " ")


def test_an_unreadable_pool_is_a_subject_error() -> None:
    with pytest.raises(SubjectError, match="known: dev, prod, research"):
        subject(ROOT, "nowhere/dgx", None, ())


@pytest.mark.parametrize("name", NOT_SET)
def test_what_no_plan_sets_is_explained_with_its_source(name: str) -> None:
    ended = fleet("explain", name)

    assert ended.exit_code == 0
    assert ended.stdout.startswith(f"No plan of the catalogue has {name}: ")
    assert "(https://" in ended.stdout


def test_the_decision_on_what_is_not_set_names_what_can_be_explained() -> None:
    (page,) = (ROOT / "docs" / "decisions").glob("0022-*.md")
    named = re.findall(r"`fleet explain ([^`]+)`", page.read_text())

    assert set(NOT_SET) <= set(named)
    for name in named:
        assert fleet("explain", name).exit_code == 0, name
