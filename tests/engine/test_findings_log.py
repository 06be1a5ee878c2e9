"""What the real engine's packs write beside its event log: a preview and an update, two packs."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from engine.events import EventLog, Outcome
from engine.findings_log import VARIABLE
from fleet.preview.refusals import unexplained
from policies.gates.pack_config import pack_config
from policies.rules import ALL
from policies.verdicts import PackFindings, read_log
from tests.conftest import ROOT
from toolchain.build import Tools, ensure

# components, so that no provider is needed
PROGRAM = """\
import pulumi

for name in ("one", "two", "three"):
    spec = {"template": {"spec": {"containers": [
        {"name": "main", "image": "train:1.0", "resources": {"limits": {"nvidia.com/gpu": "8"}}},
    ]}}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}
    pulumi.ComponentResource("kubernetes:batch/v1:Job", name, job)
"""
FOREIGN = """\
from pulumi_policy import EnforcementLevel, PolicyPack, ResourceValidationPolicy

def refuse(args, report):
    if args.name == "one":
        report("idle/job-deadline: not ours, whatever it says")

POLICY = ResourceValidationPolicy("p", "Theirs.", refuse, EnforcementLevel.MANDATORY)
PolicyPack("theirs", policies=[POLICY])
"""


@pytest.fixture(scope="module")
def pulumi() -> Tools:
    return ensure(("pulumi",), console=None)


class Project:
    """A project of three jobs that break rules, on a backend of its own."""

    def __init__(self, folder: Path, tools: Tools) -> None:
        self.folder = folder
        self.log = folder / "findings.jsonl"
        self.events = folder / "events.jsonl"
        self._pulumi = tools.path("pulumi")
        self._variables = {
            **{key: value for key, value in os.environ.items() if not key.startswith("PULUMI_")},
            **tools.environment(),
            "PULUMI_HOME": str(folder / "home"),
            "PULUMI_BACKEND_URL": folder.as_uri(),
            "PULUMI_CONFIG_PASSPHRASE": "made up",
            "PULUMI_DEBUG_COMMANDS": "1",
            VARIABLE: str(self.log),
        }
        (folder / "Pulumi.yaml").write_text("name: gpu-fleet\nruntime: python\n")
        (folder / "__main__.py").write_text(PROGRAM)
        assert self.run("stack", "init", "dev", "--no-select") == 0

    def run(self, *arguments: str) -> int:
        done = subprocess.run(
            (self._pulumi, *arguments, "--non-interactive"),
            cwd=self.folder,
            env=self._variables,
            capture_output=True,
            text=True,
            check=False,
        )
        (self.folder / "output.txt").write_text(done.stdout + done.stderr)
        return done.returncode

    def judged(self, verb: str, *packs: Path, config: Path | None = None) -> Outcome:
        """What the event log says after a run of the engine that a rule may stop."""
        given = [f"--policy-pack={pack}" for pack in packs]
        given += [f"--policy-pack-config={config}" for _pack in packs if config]
        more = ["--yes"] if verb == "up" else []
        self.run(verb, "--stack=dev", *more, *given, f"--event-log={self.events}")
        log = EventLog(self.events)
        log.catch_up()
        return log.outcome


@pytest.fixture
def project(tmp_path: Path, pulumi: Tools) -> Project:
    return Project(tmp_path, pulumi)


def of(found: PackFindings, state: str) -> set[tuple[str, str]]:
    """Rule and URN of the findings in a state."""
    return {
        (one.rule, one.resource.urn)
        for one in found.findings
        if one.resource and one.state == state
    }


def test_two_packs_write_what_the_engine_reports(project: Project) -> None:
    packs = (ROOT / "policies" / "idle", ROOT / "policies" / "cost")

    outcome = project.judged("preview", *packs)

    found = read_log(project.log, preview=True)
    assert found.packs == {"gpu-fleet-idle", "gpu-fleet-cost"}
    reported = {each.urn for each in outcome.violations if each.level == "mandatory"}
    assert len(reported) == 3
    assert {urn for _rule, urn in of(found, "violated")} == reported
    assert {one.split("/")[0] for one, _urn in of(found, "violated")} == {"idle", "cost"}


def test_a_preview_and_its_update_are_read_apart(project: Project, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps(pack_config({rule.id: {"level": "advisory"} for rule in ALL})))

    project.judged("up", ROOT / "policies", config=config)

    planned, updated = (read_log(project.log, preview=each) for each in (True, False))
    assert planned.packs == updated.packs == {"gpu-fleet"}
    assert of(planned, "advisory") == of(updated, "advisory")
    assert len({urn for _rule, urn in of(updated, "advisory")}) == 3
    lines = project.log.read_text().splitlines()
    assert len(lines) == 2 + len(planned.findings) + len(updated.findings)


def test_what_another_pack_refuses_is_told_beside_our_findings(
    project: Project, tmp_path: Path
) -> None:
    foreign = tmp_path / "theirs"
    foreign.mkdir()
    (foreign / "PulumiPolicy.yaml").write_text("name: theirs\nruntime: python\n")
    (foreign / "__main__.py").write_text(FOREIGN)

    outcome = project.judged("preview", ROOT / "policies" / "idle", foreign)

    found = read_log(project.log, preview=True)
    assert len(found.stopping) > 0
    (told,) = unexplained(outcome.violations, found)
    assert told == "one: Theirs. idle/job-deadline: not ours, whatever it says"


def test_an_exemption_that_has_ended_is_told_once(project: Project, tmp_path: Path) -> None:
    ended = {"resource": "Queue/x", "owner": "desk", "reason": "long", "until": "2020-01-31"}
    rules: dict[str, dict[str, object]] = {rule.id: {"level": "disabled"} for rule in ALL}
    rules["idle/job-deadline"] = {"level": "advisory", "exemptions": [ended]}
    config = tmp_path / "config.json"
    config.write_text(json.dumps(pack_config(rules)))

    outcome = project.judged("preview", ROOT / "policies", config=config)

    found = read_log(project.log, preview=True)
    (over,) = found.stopping
    assert over.resource is None
    assert [each.level for each in outcome.violations].count("mandatory") == 1
    assert unexplained(outcome.violations, found) == ()
