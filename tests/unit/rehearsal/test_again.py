"""A kept twin and an edit that is refused at its preview: what is told, and what the twin keeps."""

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from policies.environment import load
from policies.verdicts import Finding, Resource, as_json
from rehearsal import run, stackfile
from rehearsal.changes import Running
from rehearsal.engine import findings_path
from rehearsal.progress import Progress
from rehearsal.report import Report
from rehearsal.run import Rehearsal
from rehearsal.tunnels import tunnel_keys
from rehearsal.workspace import Workspace
from settings import SECRETS, stack_file
from tests.conftest import ROOT
from tests.support.rehearsal.reports import text
from toolchain.build import Tools

RULE = "idle/gpu-node-pool"
BROKEN = Finding(
    rule=RULE,
    level="mandatory",
    state="violated",
    resource=Resource(kind="NodePool", name="burst-spot"),
    sentences=("NodePool 'burst-spot' has spec.disruption.consolidateAfter 10m; at most 5m.",),
)
KUBECONFIG = {
    "current-context": "twin",
    "contexts": [{"name": "twin", "context": {"cluster": "twin", "user": "twin"}}],
    "clusters": [{"name": "twin", "cluster": {"server": "http://127.0.0.1:9"}}],
    "users": [{"name": "twin", "user": {"token": "x"}}],
}
REFUSES = """#!/bin/sh
cp "{findings}" "$FLEET_FINDINGS_LOG"
exit 255
"""


def heard(*findings: Finding, preview: bool) -> str:
    """What the policy pack writes as it starts, and for each finding."""
    found = [None, *map(as_json, findings)]
    lines = [{"pack": "gpu-fleet", "preview": preview, "finding": each} for each in found]
    return "".join(f"{json.dumps(line)}\n" for line in lines)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """A twin of dev, kept after an update in which every rule held."""
    found = Workspace(root=tmp_path, environment="dev")
    found.directory.mkdir(parents=True)
    sleeper = (sys.executable, "-c", "import time; time.sleep(600)")
    found.processes.start("etcd", sleeper, env=dict(os.environ))
    (tmp_path / "stacks").mkdir()
    shutil.copy(ROOT / "stacks" / "Pulumi.dev.yaml", tmp_path / "stacks")
    tracked = stack_file(tmp_path, "dev")
    keys = tunnel_keys(load(tracked).settings, None).secret
    stackfile.write(
        tracked,
        found.directory / "Pulumi.dev.yaml",
        forms=SECRETS,
        known=stackfile.Known(secret={"wireguard_keys": keys}, plain={}),
    )
    for name, content in {"kubeconfig": KUBECONFIG, "providers.json": {}}.items():
        (found.directory / name).write_text(json.dumps(content, indent=1))
    (found.directory / "policy-config.json").write_text('{"of": "the twin"}')
    findings_path(found.directory, "up").write_text(heard(preview=False))
    Running(nodes=("dev-dgx-01",), usd_per_hour=1.0).write(found.kept_mark)
    yield found
    found.processes.stop()


@pytest.fixture
def rehearse(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], Report]:
    """Rehearses the stack file on it, with an engine whose preview finds that a rule is broken."""
    (tmp_path / "findings").write_text(heard(BROKEN, preview=True))
    pulumi = tmp_path / "pulumi"
    pulumi.write_text(REFUSES.format(findings=tmp_path / "findings"))
    pulumi.chmod(0o700)
    tools = Tools(programs={"pulumi": pulumi}, crds=tmp_path)
    monkeypatch.setattr(run, "ensure", lambda **_: tools)

    def run_again() -> Report:
        tracked, progress = stack_file(tmp_path, "dev"), Progress(Console(file=StringIO()))
        return Rehearsal(workspace, load(tracked), tracked, progress).run(keep=False, again=True)

    return run_again


@pytest.fixture
def refused(tmp_path: Path, rehearse: Callable[[], Report]) -> Report:
    """The report of an edit that its preview refuses."""
    tracked = stack_file(tmp_path, "dev")
    tracked.write_text(tracked.read_text().replace("usd_per_day: 3000", "usd_per_day: 2999"))
    return rehearse()


def test_the_broken_rule_is_told_and_does_not_count_as_held(refused: Report) -> None:
    assert [verdict.rule for verdict in refused.broken] == [RULE]
    assert refused.other_problems == ()
    held = sum(verdict.state == "held" for verdict in refused.verdicts)
    assert held == len(refused.verdicts) - 1


def test_the_report_says_that_the_twin_stays_as_it_was(refused: Report) -> None:
    shown = " ".join(text(refused).split())
    assert "Pools as the stack file plans them; the twin stays as it was:" in shown
    assert refused.kept


def test_what_is_refused_does_not_stay_in_the_twin(
    workspace: Workspace, request: pytest.FixtureRequest
) -> None:
    names = ("Pulumi.dev.yaml", "policy-config.json")
    before = {name: (workspace.directory / name).read_text() for name in names}
    request.getfixturevalue("refused")
    assert {name: (workspace.directory / name).read_text() for name in names} == before


def test_it_states_nothing_as_the_twin_may_have_been_changed_by_hand(
    workspace: Workspace, rehearse: Callable[[], Report]
) -> None:
    for path in (workspace.statement, workspace.signed_statement):
        path.write_text("{}")
    rehearse()
    assert not workspace.statement.exists()
    assert not workspace.signed_statement.exists()


def test_what_is_running_is_still_known(workspace: Workspace, refused: Report) -> None:
    assert refused.planned
    assert Running.read(workspace.kept_mark).nodes == ("dev-dgx-01",)


def test_an_edit_that_ends_before_its_preview_has_no_verdicts_of_an_earlier_one(
    workspace: Workspace, tmp_path: Path, rehearse: Callable[[], Report]
) -> None:
    tracked = stack_file(tmp_path, "dev")
    tracked.write_text(
        re.sub("service_cidr: .*", "service_cidr: 10.99.0.0/16", tracked.read_text())
    )
    report = rehearse()
    assert "the addresses of Services and pods are fixed" in report.problems[0]
    assert report.verdicts == ()
    assert workspace.is_kept
