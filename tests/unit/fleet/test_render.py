"""`fleet render`: what machines boot with, as files that anybody may read."""

import base64
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fleet.cli.main import app
from fleet.render import render
from ignition.boot.node import boot
from ignition.butane import transpile
from ignition.write.wireguard import CREDENTIAL, NETWORK
from settings import load, stack_file
from tests.conftest import ROOT


def test_each_pool_has_a_folder_with_its_butane_and_what_it_becomes(tmp_path: Path) -> None:
    written = render(ROOT, "prod", tmp_path)

    pools = {path.name for path in tmp_path.iterdir()}
    assert {"dgx", "cpu"} <= pools
    assert len(written) == 4 * len(pools)
    for pool in pools:
        source = (tmp_path / pool / "butane.yaml").read_text()
        assert json.loads((tmp_path / pool / "ignition.json").read_text()) == transpile(source)


def test_the_join_part_is_readable_but_for_its_secrets(tmp_path: Path) -> None:
    render(ROOT, "dev", tmp_path)

    join = json.loads((tmp_path / "dgx" / "join.json").read_text())
    urls = [file["contents"]["source"] for file in join["storage"]["files"]]
    decoded = "\n".join(base64.b64decode(url.partition("base64,")[2]).decode() for url in urls)
    assert '"token":"masked.0000000000000000"' in decoded
    assert "api.dev.fleet.example:6443" in decoded
    assert "name-of-the-machine" in decoded


def test_a_machine_behind_a_tunnel_is_rendered_with_a_masked_key(tmp_path: Path) -> None:
    render(ROOT, "research", tmp_path)

    join = json.loads((tmp_path / "dgx" / "join.json").read_text())
    files = {
        file["path"]: base64.b64decode(file["contents"]["source"].partition("base64,")[2]).decode()
        for file in join["storage"]["files"]
    }
    assert files[CREDENTIAL].startswith("masked")
    assert "Address=10.33.0.11/24" in files[NETWORK]
    assert "wg0" in (tmp_path / "dgx" / "butane.yaml").read_text()
    assert "wg0" not in (tmp_path / "cpu" / "butane.yaml").read_text()


@pytest.mark.parametrize("environment", ["dev", "research", "prod"])
def test_what_is_rendered_can_be_booted(tmp_path: Path, environment: str) -> None:
    render(ROOT, environment, tmp_path)

    pools = load(stack_file(ROOT, environment)).pools
    for name, pool in pools.items():
        text = (tmp_path / name / "user-data.json").read_text()
        booted = boot(text, pool.hardware)
        assert booted.problems == ()
        assert booted.node is not None
        assert booted.node.labels["fleet.gpu/pool"] == name


def test_an_unknown_environment_is_one_sentence(tmp_path: Path) -> None:
    ended = CliRunner().invoke(app, ["render", "gone", "--out", str(tmp_path / "out")])

    assert ended.exit_code == 2
    assert 'there is no environment "gone"' in ended.stderr
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    ended = CliRunner().invoke(app, ["render", "dev", "--out", str(tmp_path / "file")])

    assert ended.exit_code == 2
    assert "cannot be written: Not a directory." in ended.stderr.replace("\n", " ")
