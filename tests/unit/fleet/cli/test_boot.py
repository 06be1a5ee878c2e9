"""`fleet boot` shows the Node, or what keeps the machine out, and says which by its exit code."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fleet.cli.main import app
from ignition.boot import scripts
from ignition.write.gateway import gateway_ignition, secret_ignition
from ignition.write.payload import sha512
from ignition.write.render import data_url, join_ignition, tuning_ignition, with_merge
from tests.support.ignition import roles
from tests.support.ignition.faults import argument, changed
from tests.support.ignition.nodes import TOKEN, join, node, user_data

GOOD = user_data(node("dgx-h200"))
BAD = changed(GOOD, argument("", "nohz_full=4-55"))


def run(text: str | None, *arguments: str, path: Path) -> tuple[int, str, str]:
    """The exit code and both outputs for a file, or for stdin where the file is `-`."""
    given = "-"
    if text is not None:
        path = path / "node.ign"
        path.write_text(text)
        given = str(path)
    result = CliRunner().invoke(app, ["boot", given, *arguments], input=GOOD)
    return result.exit_code, result.stdout, result.stderr


def test_a_machine_that_comes_up_is_shown_as_its_node(tmp_path: Path) -> None:
    code, shown, _ = run(GOOD, "--hardware", "dgx-h200", path=tmp_path)
    assert code == 0
    for part in (
        "dgx-h200 comes up as node",
        "fleet.gpu/pool=pool",
        "nvidia.com/gpu=present:NoSchedule",
        "224, allocatable 208",
        "hugepages-1Gi 32 + 32",
        "0-3,56-59,112-115,168-171",
        "allocatable.cpu",
    ):
        assert part in shown
    assert TOKEN not in shown


def test_standard_input_is_read(tmp_path: Path) -> None:
    assert run(None, "--hardware", "dgx-h200", path=tmp_path)[0] == 0


def test_a_machine_that_stays_out_is_shown_with_its_problems(tmp_path: Path) -> None:
    code, shown, _ = run(BAD, "--hardware", "dgx-h200", path=tmp_path)
    assert code == 1
    assert "dgx-h200 does not come up: 1 problem" in shown
    assert '"nohz_full=4-55" does nothing' in shown


def test_what_this_computer_cannot_check_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripts, "_bash", lambda: None)
    for text in (GOOD, BAD):
        shown = run(text, "--hardware", "dgx-h200", path=tmp_path)[1]
        assert "because PATH has no bash" in shown
        found = run(text, "--hardware", "dgx-h200", "--json", path=tmp_path)[1]
        assert "PATH has no bash" in json.loads(found)["unchecked"][0]


def test_json_has_the_node_or_the_problems(tmp_path: Path) -> None:
    code, shown, _ = run(GOOD, "--hardware", "dgx-h200", "--json", path=tmp_path)
    found = json.loads(shown)
    assert (code, found["role"], found["problems"]) == (0, "node", [])
    assert found["node"]["allocatable"]["nvidia.com/gpu"] == "8"
    code, shown, _ = run(BAD, "--hardware", "dgx-h200", "--json", path=tmp_path)
    found = json.loads(shown)
    assert (code, found["node"], len(found["problems"])) == (1, None, 1)


def test_what_the_machine_would_fetch_is_handed_over(tmp_path: Path) -> None:
    secret = join_ignition(join())
    (tmp_path / "join.ign").write_text(secret)
    url = "s3://bucket/join.ign"
    text = with_merge(tuning_ignition(node("dgx-h200")), url, sha512(secret))
    asked = ("--hardware", "dgx-h200")
    code, shown, _ = run(text, *asked, path=tmp_path)
    assert code == 1
    assert f"is given as --fetch {url}=FILE" in " ".join(shown.replace("│", "").split())
    assert run(text, *asked, "--fetch", f"{url}={tmp_path}/join.ign", path=tmp_path)[0] == 0
    code, _, refused = run(text, *asked, "--fetch", f"{url}=/nowhere.ign", path=tmp_path)
    assert (code, refused) == (2, "/nowhere.ign cannot be read: No such file or directory\n")
    code, _, refused = run(text, *asked, "--fetch", "join.ign", path=tmp_path)
    assert (code, refused) == (2, '--fetch is "join.ign"; allowed: URL=FILE\n')


def test_a_gateway_comes_up_without_a_node(tmp_path: Path) -> None:
    secret = data_url(secret_ignition(roles.key(), "gateway-1"))
    text = with_merge(gateway_ignition(roles.gateway()), secret)
    code, shown, _ = run(text, "--hardware", "ccx33", path=tmp_path)
    assert code == 0
    assert "ccx33 comes up as gateway" in shown


@pytest.mark.parametrize(
    ("text", "hardware", "says"),
    [
        ("#cloud-config", "dgx-h200", "the file is not JSON"),
        (GOOD, "dgx-h2000", 'hardware "dgx-h2000" is not in the catalogue'),
    ],
)
def test_input_that_cannot_be_used_is_refused(
    text: str, hardware: str, says: str, tmp_path: Path
) -> None:
    code, shown, refused = run(text, "--hardware", hardware, path=tmp_path)
    assert (code, shown) == (2, "")
    assert says in refused


def test_a_file_that_is_not_there_is_refused() -> None:
    result = CliRunner().invoke(app, ["boot", "/nowhere.ign", "--hardware", "ccx33"])
    assert result.exit_code == 2
    assert "/nowhere.ign cannot be read: No such file" in result.stderr


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(b"\xff\xfe\x00")
    result = CliRunner().invoke(app, ["boot", str(tmp_path / "image"), "--hardware", "ccx33"])
    assert result.exit_code == 2
    assert "is no text" in result.stderr
