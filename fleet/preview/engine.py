"""Runs `pulumi preview` for a real account with the policy pack, and reads its event log."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from engine import findings_log
from engine.events import EventLog
from engine.interrupts import wait
from fleet.preview.deployed import usd_per_day_of_stack, with_cost_before
from fleet.preview.summary import EngineRun, Summary, summarise
from policies.environment import Environment
from policies.gates.pack_config import pack_config
from policies.verdicts import read_log
from settings import Allow
from settings.forms import MOST_MACHINES
from settings.names import PROJECT
from toolchain.build import Tools


@dataclass(frozen=True, kw_only=True)
class Preview:
    """The preview of one environment, with the login and the credentials of `variables`."""

    root: Path  # of the checkout
    environment: Environment
    stack_file: Path
    pulumi: Path
    variables: Mapping[str, str]

    @property
    def log(self) -> Path:
        """The file with the engine's output."""
        return self.root / ".preview" / f"{self.environment.settings.environment}.log"

    def run(self, progress: Callable[[int], None] = lambda _resources: None) -> Summary:
        """Runs the preview; `progress` gets the number of resources that the engine has reached."""
        self.log.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="fleet-preview-") as name:
            folder = Path(name)
            events, findings = EventLog(folder / "events.jsonl"), folder / "findings.jsonl"
            # the engine writes a salt into a stack file that has none, and loses its comments
            stack_file = Path(shutil.copy(self.stack_file, folder))
            config = folder / "policy-config.json"
            config.write_text(json.dumps(pack_config(self._policies())))
            with self.log.open("w") as log:
                process = subprocess.Popen(
                    self._command(stack_file, events.path, config),
                    cwd=self.root,
                    env={**self.variables, **_logs(findings)},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # Ctrl-C reaches it by `wait` alone, once
                )
                code = wait(process, lambda: _follow(events, progress))
            # by newline alone: Python sees an end of a line in signs that JSON has in its texts
            lines = events.path.read_bytes().splitlines() if events.path.exists() else []
            run = EngineRun(
                events=[json.loads(line) for line in lines],
                heard=read_log(findings, preview=True),
                succeeded=code == 0,
                output=self.log.read_text(encoding="utf-8"),
            )
        return summarise(self.environment, run)

    def _policies(self) -> Mapping[str, Mapping[str, object]]:
        """Returns the settings of the rules, and the deployed cost for cost/change-budget."""
        before = usd_per_day_of_stack(
            self.root, self.environment.settings.environment, self.pulumi, self.variables
        )
        return with_cost_before(self.environment.rule_settings, before)

    def _command(self, stack_file: Path, events: Path, config: Path) -> tuple[str, ...]:
        return (
            str(self.pulumi),
            "preview",
            f"--stack={self.environment.settings.environment}",
            f"--config-file={stack_file}",
            f"--policy-pack={self.root / 'policies'}",
            f"--policy-pack-config={config}",
            f"--event-log={events}",
            *_allowing_all(),
            *("--non-interactive", "--color=never", "--diff"),
        )


def _allowing_all() -> tuple[str, ...]:
    """Returns the options by which the program refuses no number of machines.

    It would refuse before it registers anything, and the preview would show nothing: the steps are
    counted instead. The engine writes them into the copy of the stack file.
    """
    keys = [field.name for field in fields(Allow)]
    return ("--config-path", *(f"--config={PROJECT}:allow.{key}={MOST_MACHINES}" for key in keys))


def variables(tools: Tools) -> dict[str, str]:
    """Returns the user's environment variables, so that the engine finds login and accounts."""
    found = {**os.environ, **tools.environment()}
    # Against a real account the provider plugins are downloaded when they are first needed.
    del found["PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"]
    return found


def _logs(findings: Path) -> dict[str, str]:
    """Returns the variables that enable `--event-log` and the file of the pack's findings."""
    return {"PULUMI_DEBUG_COMMANDS": "1", findings_log.VARIABLE: str(findings)}


def _follow(events: EventLog, progress: Callable[[int], None]) -> None:
    if events.catch_up():
        progress(events.outcome.started)
