"""`fleet report ENV --lock-images`: asks registries, and says what stays without a digest."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fleet.cli import report as command
from fleet.cli.main import app
from rehearsal.charts import digests
from rehearsal.charts.digests import Told
from rehearsal.charts.results import Charts, RenderedChart
from rehearsal.report import Report
from rehearsal.workspace import Workspace
from tests.conftest import ROOT

KNOWN, AWAY = "a.example/known:1", "b.example/away:1"
DIGEST = f"sha256:{'1' * 64}"


def test_the_file_gets_digests_of_registries_and_the_others_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stacks").mkdir()
    shutil.copy(ROOT / "stacks" / "Pulumi.dev.yaml", tmp_path / "stacks")
    chart = RenderedChart(name="a", chart="ours", version="1", source="h", images=(KNOWN, AWAY))
    path = Workspace(root=tmp_path, environment="dev").report
    path.parent.mkdir(parents=True)
    last = Report(environment="dev", charts=Charts(rendered=(chart,)))
    path.write_text(json.dumps(last.as_json()))
    told = Told(digests={KNOWN: DIGEST}, unknown={AWAY: "b.example cannot be reached"})
    monkeypatch.setattr(digests, "tell", lambda images: told if images == [KNOWN, AWAY] else None)
    monkeypatch.setattr(command, "ROOT", tmp_path)

    shown = CliRunner().invoke(app, ["report", "dev", "--lock-images"])

    assert shown.exit_code == 0, shown.output
    assert f"{AWAY} is there without a digest: b.example cannot be reached." in shown.stdout
    written = (tmp_path / "stacks" / "images.dev.yaml").read_text()
    assert f"{KNOWN}: {DIGEST}\n" in written
    assert f"{AWAY}: null\n" in written
