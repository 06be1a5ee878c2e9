"""`fleet hardware`: the catalogue as tables and JSON, and a machine imported into a file."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from fleet.cli.main import app
from hardware.catalogue import load, names, read
from tests.support.hardware_captures import files, layout


def fleet(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["hardware", *map(str, arguments)])


def test_the_list_has_every_machine_with_its_doubts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    shown = fleet("list")
    assert shown.exit_code == 0
    assert all(name in shown.stdout for name in names())
    (line,) = [line for line in shown.stdout.splitlines() if line.strip().startswith("dgx-a100")]
    assert line.split()[-5:] == ["256", "8", "2048", "—", str(len(load("dgx-a100").doubts))]


def test_the_list_is_json_too() -> None:
    found = json.loads(fleet("list", "--json").stdout)
    assert [machine["name"] for machine in found] == list(names())


def test_a_machine_is_shown_by_numa_node_with_what_is_not_verified() -> None:
    shown = fleet("show", "dgx-a100").stdout
    (node,) = [line for line in shown.splitlines() if "48-63,176-191" in line]
    assert node.split()[:2] == ["3", "48-63,176-191"]
    assert "0, 1" in node
    assert "mlx5_0, mlx5_1" in node
    assert "behind NVSwitch" in shown
    assert all(fact in shown for fact in load("dgx-a100").doubts)


def test_a_machine_is_json_with_what_follows_from_its_facts() -> None:
    found = json.loads(fleet("show", "p5en.48xlarge", "--json").stdout)
    assert found["cpu_count"] == 192
    assert found["numa_nodes"][1]["cpus"] == "48-95,144-191"
    assert found["usd_per_hour"] == 63.296
    assert found["verified"] is False


def test_an_unknown_machine_is_refused_with_the_nearest() -> None:
    shown = fleet("show", "dgx-h20")
    assert shown.exit_code == 2
    assert "nearest: dgx-h200" in shown.stderr
    assert not shown.stdout


def arguments(name: str, folder: Path) -> list[object]:
    given = files(layout(name), folder, tree=True)
    captures = ["--lscpu", given.lscpu, "--sysfs", given.sysfs, "--topo", given.topo]
    return ["import", "--name", "rack7", "--system-disk", "nvme0n1", *captures]


def test_a_machine_is_imported_to_a_file_that_is_a_catalogue_entry(tmp_path: Path) -> None:
    target = tmp_path / "rack7.yaml"
    shown = fleet(*arguments("azure-nd-h200-v5", tmp_path), "--kind", "azure", "-o", target)
    assert (shown.exit_code, shown.stdout) == (0, "")
    assert "fill in the price" in shown.stderr
    machine = read("rack7", target.read_text(), where="rack7.yaml")
    assert (machine.kind, machine.gpu_count) == ("azure", 8)
    assert "# to fill in" in target.read_text()


def test_a_machine_is_printed_where_no_file_is_given(tmp_path: Path) -> None:
    shown = fleet(*arguments("azure-nd-h200-v5", tmp_path))
    assert shown.exit_code == 0
    assert read("rack7", shown.stdout, where="rack7.yaml").name == "rack7"


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--lspci", "lspci.txt"], "exactly one of the two is needed"),
        (["--kind", "metal"], "'metal' is not one of"),
        (["-o", "/nowhere/rack7.yaml"], "No such file or directory"),
    ],
)
def test_what_cannot_be_imported_is_a_sentence_and_exit_code_2(
    tmp_path: Path, more: list[str], says: str
) -> None:
    shown = fleet(*arguments("azure-nd-h200-v5", tmp_path), *more)
    assert shown.exit_code == 2
    assert says in shown.stderr.replace("\n", " ")
    assert "Traceback" not in shown.stderr


def test_the_help_names_the_commands_to_run_on_the_machine() -> None:
    shown = fleet("import", "--help").stdout
    for command in ("lscpu -J -e=CPU,CORE,SOCKET,NODE", "nvidia-smi topo -m", "lspci -Dvmmnn"):
        assert command in shown
