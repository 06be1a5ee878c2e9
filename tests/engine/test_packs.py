"""Each pack alone, by its path, from a project that has nothing else of this repository."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.events import EventLog, Outcome, Violation
from policies.gates.pack_config import POLICY, pack_config
from policies.gates.plan import ADVISORY_POLICY
from tests.conftest import ROOT
from tests.engine.conftest import Trial

PACKS = {
    "cost": "cost/labels",
    "idle": "idle/job-deadline",
    "isolation": "isolation/host-access",
    "numa": "numa/guaranteed-qos",
}
"""By pack: the rule that the job below breaks."""
PROGRAM = """\
import pulumi
import pulumi_kubernetes as kubernetes

kubeconfig = pulumi.Config("gpu-fleet").require_secret("kubeconfig")
kubernetes.batch.v1.Job(
    "train",
    metadata={"name": "train", "namespace": "default"},
    spec={"template": {"spec": {"restartPolicy": "Never", "hostNetwork": True, "containers": [
        {"name": "main", "image": "train:1.0", "resources": {"limits": {"nvidia.com/gpu": "8"}}},
    ]}}},
    opts=pulumi.ResourceOptions(provider=kubernetes.Provider("cluster", kubeconfig=kubeconfig)),
)
"""


@pytest.fixture
def foreign(twin_of_dev: Callable[..., Trial], tmp_path: Path) -> Callable[..., Outcome]:
    """Previews the foreign project with one pack and its settings."""
    engine = twin_of_dev(lambda _config: None).engine
    (tmp_path / "Pulumi.yaml").write_text("name: gpu-fleet\nruntime: python\n")
    (tmp_path / "__main__.py").write_text(PROGRAM)

    def preview(pack: str, settings: dict[str, Any]) -> Outcome:
        config, events = tmp_path / "f.json", EventLog(tmp_path / f"{pack}.jsonl")
        config.write_text(json.dumps(pack_config(settings)))
        events.path.unlink(missing_ok=True)
        argv: list[str | Path] = [
            engine.pulumi,
            "preview",
            "--non-interactive",
            *engine.arguments,
            f"--policy-pack={ROOT / 'policies' / pack}",
            f"--policy-pack-config={config}",
            f"--event-log={events.path}",
        ]
        done = subprocess.run(
            argv, cwd=tmp_path, env=engine.environment, capture_output=True, text=True, check=False
        )
        events.catch_up()
        stopped = any(told.level == "mandatory" for told in events.outcome.violations)
        assert (done.returncode != 0) is stopped, done.stdout + done.stderr
        return events.outcome

    return preview


def rules(violations: list[Violation]) -> set[str]:
    """The rules that the messages name; the engine writes the policy's description above each."""
    return {told.message.split("\n")[1].split(":")[0] for told in violations}


def test_a_pack_alone_holds_a_foreign_project_to_its_own_rules_and_settings(
    foreign: Callable[..., Outcome],
) -> None:
    for pack, rule in PACKS.items():
        stopped = foreign(pack, {}).violations
        assert rule in rules(stopped)
        assert {found.split("/")[0] for found in rules(stopped)} == {pack}
        assert {told.policy for told in stopped if rule in told.message} == {POLICY}

        every = {found: {"level": "advisory"} for found in {*rules(stopped), *PACKS.values()}}
        told = foreign(pack, every).violations
        assert rules(told) == rules(stopped)
        assert {each.policy for each in told} == {ADVISORY_POLICY}
