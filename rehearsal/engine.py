"""The real Pulumi engine on the unmodified program, its own state, home and passphrase.

The stack is made from the rehearsal's copy of the stack file, so the tracked one is never touched.
Checkpoints between steps are off: the file backend writes the whole state at each, and a rehearsal
that is cut short starts again from nothing anyway.
"""

import json
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from engine import findings_log
from engine.events import EventLog, Outcome
from policies.verdicts import Finding, read_log
from rehearsal.errors import RehearsalError
from rehearsal.log_reason import reason, with_reason
from rehearsal.processes import Processes

FOREIGN = ("PULUMI_", "AWS_", "HCLOUD_", "KUBE", "FLEET_", "LAKEFS_")  # of the user's real accounts
VERBS = ("preview", "up")  # in their order
PARALLEL = 16  # creates wait for answers more than for the two cores of a small machine


@dataclass(frozen=True, kw_only=True)
class Engine:
    """Runs `pulumi` for one environment."""

    root: Path  # of the checkout, with Pulumi.yaml
    environment_name: str
    directory: Path
    processes: Processes
    pulumi: Path
    environment: Mapping[str, str]  # from `environment()`
    holds_rules: bool = True  # False for a program that is deployed already

    @property
    def stack_file(self) -> Path:
        """The rehearsal's copy of the stack file."""
        return self.directory / f"Pulumi.{self.environment_name}.yaml"

    @property
    def rule_settings(self) -> Path:
        """The settings of the rules, beside the copy of the stack file."""
        return self.directory / "policy-config.json"

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments of every command on the stack."""
        return (f"--stack={self.environment_name}", f"--config-file={self.stack_file}")

    @property
    def rules(self) -> tuple[str, ...]:
        """The arguments of a command that holds the rules."""
        if not self.holds_rules:
            return ()
        return (
            f"--policy-pack={self.root / 'policies'}",
            f"--policy-pack-config={self.rule_settings}",
        )

    def create_stack(self) -> None:
        """Creates an empty stack here, because `stack init` writes to the project's directory."""
        (self.directory / "state").mkdir()
        (self.directory / "Pulumi.yaml").write_text("name: gpu-fleet\nruntime: python\n")
        init = ("stack", "init", self.environment_name, "--no-select", "--non-interactive")
        process = self._start("pulumi-stack", init, cwd=self.directory)
        if self._wait(process):
            log = self.processes.log("pulumi-stack")
            raise RehearsalError(with_reason("The engine made no stack", log))

    def preview(self, progress: Callable[[Outcome], None]) -> Outcome:
        """`pulumi preview` with the policy pack; raises with the engine's own sentences."""
        return self._operate("preview", (), progress)

    def up(self, progress: Callable[[Outcome], None], *, past_errors: bool = False) -> Outcome:
        """Runs `pulumi up` after the preview.

        With `past_errors` it makes all that does not depend on what has failed; without, it stops
        at the first failure as a user's own `up` does.
        """
        more = ("--continue-on-error",) if past_errors else ()
        return self._operate("up", ("--yes", "--skip-preview", *more), progress)

    def with_checkpoints(self) -> "Engine":
        """The same engine, which writes its state before and after each step."""
        kept = {k: v for k, v in self.environment.items() if k != "PULUMI_SKIP_CHECKPOINTS"}
        return replace(self, environment=kept)

    def kill(self) -> None:
        """Kills a running `pulumi up` with its language host, program and policy pack."""
        self.processes.kill("pulumi-up")

    def state(self) -> list[dict[str, Any]]:
        """The resources in the state of the stack."""
        (path,) = (self.directory / "state").glob(".pulumi/stacks/*/*.json")
        latest = json.loads(path.read_text(encoding="utf-8"))["checkpoint"]["latest"] or {}
        resources: list[dict[str, Any]] = latest.get("resources") or []
        return resources

    def findings(self, verb: str) -> tuple[Finding, ...]:
        """Returns the policy pack's findings of the last `preview` or `up`.

        Raises RehearsalError if the pack wrote nothing, because the rules were not checked then.
        """
        log = findings_path(self.directory, verb)
        heard = read_log(log, preview=verb == "preview")
        if not heard.packs:
            raise RehearsalError(f"The policy pack has written no findings of {verb} to {log}.")
        return heard.findings

    def _operate(
        self, verb: str, more: tuple[str, ...], progress: Callable[[Outcome], None]
    ) -> Outcome:
        name = f"pulumi-{verb}"
        events = EventLog(self.directory / f"{verb}-events.jsonl")
        findings = findings_path(self.directory, verb)
        for earlier in (events.path, findings):  # of an earlier run
            earlier.unlink(missing_ok=True)
        argv = (
            *(verb, *more, *self.arguments, *self.rules),
            f"--event-log={events.path}",
            f"--parallel={PARALLEL}",
            *("--non-interactive", "--color=never", "--suppress-outputs"),
        )
        process = self._start(
            name, argv, cwd=self.root, variables={findings_log.VARIABLE: str(findings)}
        )

        def follow() -> None:
            if events.catch_up():
                progress(events.outcome)

        code = self._wait(process, follow)
        follow()
        if code:
            self.processes.check()
        if code < 0:
            raise EngineKilledError(self.processes.how_it_ended(name), events.outcome)
        if code:
            stopping = read_log(findings, preview=verb == "preview").stopping
            raise EngineError(verb, events.outcome, self.processes.log(name), stopping)
        return events.outcome

    def _start(
        self,
        name: str,
        arguments: tuple[str, ...],
        *,
        cwd: Path,
        variables: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[bytes]:
        env = {**self.environment, **(variables or {})}
        return self.processes.start(name, (self.pulumi, *arguments), env=env, cwd=cwd)

    def _wait(
        self, process: subprocess.Popen[bytes], each_time: Callable[[], None] = lambda: None
    ) -> int:
        while process.poll() is None:
            self.processes.check()
            each_time()
            time.sleep(0.05)
        return process.returncode


class EngineKilledError(RehearsalError):
    """A signal has ended the engine, when it had come to `outcome`."""

    def __init__(self, sentence: str, outcome: Outcome) -> None:
        super().__init__(sentence)
        self.outcome = outcome


class EngineError(RehearsalError):
    """The engine refused or failed: one reason per line, the last with the log's path.

    `stopping` are the findings for which it stopped; where there are none, the engine's own words
    stand for the rules of whatever pack it was.
    """

    def __init__(
        self, verb: str, outcome: Outcome, log: Path, stopping: Sequence[Finding] = ()
    ) -> None:
        self.outcome = outcome
        broken = [problem for finding in stopping for problem in finding.problems]
        stops = [v for v in outcome.violations if v.level != "advisory" and not broken]
        reasons = [f"{v.resource}: {' '.join(v.message.split())}" for v in stops]
        reasons += outcome.errors() if outcome.failed or not (broken or stops) else ()
        if not (broken or reasons):
            reasons = [reason(log) or "it ended without a word"]
        told = "\n".join(f"pulumi {verb}: {each}" for each in reasons)
        super().__init__("\n".join([*broken, *([f"{told} (log: {log})"] if told else [])]))


def forget_findings(directory: Path) -> None:
    """Remove what earlier rehearsals have found: this one may not come to its update."""
    for verb in VERBS:
        findings_path(directory, verb).unlink(missing_ok=True)


def findings_path(directory: Path, verb: str) -> Path:
    """The file with what the policy pack has found in the last run of `verb`."""
    return directory / f"{verb}-findings.jsonl"


def environment(
    tools: Mapping[str, str], directory: Path, *, provider_ports: Mapping[str, int]
) -> dict[str, str]:
    """Returns the engine's environment variables: the twin's, without the user's accounts."""
    base = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}
    return {**base, **tools, **variables(directory, provider_ports), **_OURS_ALONE}


def variables(directory: Path, provider_ports: Mapping[str, int]) -> dict[str, str]:
    """Returns the variables that point `pulumi` to the rehearsal's stack."""
    ports = ",".join(f"{name}:{port}" for name, port in provider_ports.items())
    return {
        "PULUMI_HOME": str(directory / "pulumi-home"),
        "PULUMI_BACKEND_URL": f"file://{quote(str(directory / 'state'))}",
        "PULUMI_CONFIG_PASSPHRASE_FILE": str(directory / "passphrase"),
        "PULUMI_DEBUG_PROVIDERS": ports,
        "no_proxy": "127.0.0.1,localhost",  # gRPC would ask a proxy for the stand-ins
    }


_OURS_ALONE = {
    "PYTHONFAULTHANDLER": "1",  # a provider that crashes leaves its stack in the log
    "PULUMI_DEBUG_COMMANDS": "1",  # --event-log is one of them
    "PULUMI_EXPERIMENTAL": "1",
    "PULUMI_SKIP_CHECKPOINTS": "1",
    "PULUMI_DIY_BACKEND_DISABLE_CHECKPOINT_BACKUPS": "1",
}
