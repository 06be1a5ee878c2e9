"""What `fleet resume` asks, prints and returns; then `pulumi up` takes its place."""

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import typer
from rich.console import Console

from engine.interrupts import Interrupted, interruptible
from fleet.deployed_stack import DeployedStack, StackError, variables
from fleet.resume.clouds import Clouds
from fleet.resume.known import Known
from fleet.resume.pending import CREATING, Answer, Pending
from fleet.resume.run import NothingDoneError, Plan, Resume, Settled
from policies.configuration import PolicyConfigError
from policies.environment import Environment, load
from policies.gates.pack_config import pack_config
from settings import SettingsError, stack_file
from toolchain.build import ToolchainError, ensure

NOTHING, FAILED, UNKNOWN = 0, 1, 2
SHOWN = 12


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The options of the command."""

    yes: bool
    ids: Mapping[str, Sequence[str]] = field(default_factory=dict)
    gone: Sequence[str] = ()


def command(root: Path, environment: str, wanted: Wanted) -> int:
    """Go on after a killed update, and become `pulumi up`; return the exit code where it does not.

    It is 0 if there is nothing to go on with, 2 if it ends before it has changed anything, and 1 if
    it fails after that.
    """
    console = Console(stderr=True, soft_wrap=True, highlight=False, emoji=False)
    try:
        with _ended(console, UNKNOWN, "nothing was changed."):
            tracked = stack_file(root, environment)
            known = load(tracked)
            resume = _resume(root, environment, tracked, wanted, console)
            plan = resume.plan(lambda seconds: _wait(console, seconds))
        for line in told(plan, environment):
            console.print(line, markup=False)
        if plan.empty:
            return NOTHING
        if not (wanted.yes or _agreed(console, plan, environment)):
            return UNKNOWN
        # without a spinner, which would wipe what the engine asks next
        with _ended(console, FAILED, f"`fleet resume {environment}` goes on."):
            for line in outcome(resume.settle(plan, lambda _outcome: None)):
                console.print(line, markup=False)
    except _EndedError as ended:
        return ended.code
    return _become_update(resume.stack, known, yes=wanted.yes)


class _EndedError(RuntimeError):
    """The command has said why it ends; `code` is its exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(f"exit code {code}")
        self.code = code


@contextmanager
def _ended(console: Console, code: int, stopped: str) -> Iterator[None]:
    """Say what went wrong, and raise _EndedError; `stopped` is what follows Ctrl-C."""
    try:
        with interruptible():
            yield
    except (SettingsError, PolicyConfigError, ToolchainError, StackError) as error:
        console.print(str(error), style="red", markup=False)
        if isinstance(error, NothingDoneError):
            code = UNKNOWN
        elif code == FAILED:
            console.print(f"Once that is mended, {stopped}", markup=False)
        raise _EndedError(code) from None
    except Interrupted as interrupted:
        console.print(f"Stopped: {stopped}", markup=False)
        raise _EndedError(interrupted.exit_code) from None


def _resume(
    root: Path, environment: str, tracked: Path, wanted: Wanted, console: Console
) -> Resume:
    tools = ensure(("pulumi",), console=console)
    stack = DeployedStack(
        root=root,
        environment=environment,
        pulumi=tools.path("pulumi"),
        variables=variables(tools.environment()),
        arguments=(f"--stack={environment}", f"--config-file={tracked}"),
    )
    return Resume(
        stack=stack,
        clouds=lambda there: Clouds(
            resources=there,
            token=lambda: stack.secret_if_set("hcloud_token"),
            kubeconfig=lambda: stack.secret("kubeconfig"),
        ),
        known=Known(ids=wanted.ids, gone=wanted.gone),
        asks=not wanted.yes,
    )


def _wait(console: Console, seconds: float) -> None:
    console.print(f"A cloud may still do what it was asked for: waiting {seconds:.0f} s.")
    time.sleep(seconds)


def told(plan: Plan, environment: str) -> Iterator[str]:
    """Yield who has the lock, what an update has left, and what is known of it."""
    if plan.empty:
        yield f"Nothing is pending and nobody has its lock: `make up ENV={environment}` updates it."
        return
    for lock in plan.locks:
        yield lock.told(datetime.now(UTC))
    if not (plan.begun or plan.unseen):
        yield "No step is pending."
    for each, answer in [*zip(plan.begun, plan.answers, strict=True)][:SHOWN]:
        yield from _of_step(each, answer)
    if len(plan.begun) > SHOWN:
        yield f"And {len(plan.begun) - SHOWN} more."
    if plan.unseen:
        yield f"{len(plan.unseen)} resources of an earlier `fleet resume` are to be read."


def _of_step(begun: Pending, answer: Answer) -> Iterator[str]:
    first, *more = answer.ids or ("",)
    if begun.operation != CREATING:
        yield f"{begun.title}: {begun.operation} was not ended."
    elif not first:
        yield f"{begun.title}: it is made again."
    elif answer.useless:
        yield (
            f"{begun.title}: {', '.join(answer.ids)} was made, and its secret is lost: it will be "
            "deleted."
        )
    else:
        yield f"{begun.title}: it may be there as {first}."
    if more and not answer.useless:
        yield f"{begun.title}: {', '.join(more)} is too many: the update deletes it."
    if answer.others:
        yield f"{begun.title}: {', '.join(answer.others)} was made before, and stays."


def outcome(done: Settled) -> Iterator[str]:
    """Yield what became of what was pending."""
    named = {"in the state now": done.found, "not there": done.not_there}
    named["to be deleted by the update"] = done.useless
    for what, names in named.items():
        if names:
            yield f"{len(names)} {what}: {', '.join(names)}."


def question(plan: Plan, environment: str) -> str:
    """Return what is asked before anything is changed."""
    what = [
        *(["open the lock"] if plan.locks else ()),
        *(["put what is there into the state"] if plan.begun else ()),
        *(["read what an earlier run has put into the state"] if plan.unseen else ()),
    ]
    asked = f"{', '.join(what)} of {environment}, and update it?"
    return f"{asked[0].upper()}{asked[1:]} No other update of it may run now."


def _agreed(console: Console, plan: Plan, environment: str) -> bool:
    try:
        return typer.confirm(question(plan, environment), err=True)
    except typer.Abort:
        console.print("\nNobody answered: nothing was done (--yes does not ask).")
        return False


def _become_update(stack: DeployedStack, known: Environment, *, yes: bool) -> int:
    """Let `pulumi up` with the rules, as `make up` runs it, take the place of this process."""
    config = stack.root / ".preview" / f"policies-{stack.environment}.json"
    config.parent.mkdir(exist_ok=True)
    config.write_text(json.dumps(pack_config(known.rule_settings)), encoding="utf-8")
    rules = (f"--policy-pack={stack.root / 'policies'}", f"--policy-pack-config={config}")
    words = ("pulumi", "up", *stack.arguments, *rules, *(("--yes",) if yes else ()))
    os.chdir(stack.root)
    os.execve(stack.pulumi, words, dict(stack.variables))  # noqa: S606  # no shell
