"""What `fleet destroy` asks, prints and returns."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.console import Console

from engine.interrupts import Interrupted, interruptible
from fleet.deployed_stack import DeployedStack, StackError, variables
from fleet.destroy.deployed import Resource, counted, pools, things, unknown
from fleet.destroy.left import Left
from fleet.destroy.run import Teardown
from kube.client import KubeError
from settings import SettingsError, load, stack_file
from toolchain.build import ToolchainError, ensure

GONE, LEFT, UNKNOWN = 0, 1, 2
SHOWN = 5
STAYS = "its machines stay as they are."
ENDS = {
    "aws": "no new machine comes; those there are drain and end.",
    "hetzner": "its servers are deleted.",
    "bare-metal": "Metal3 wipes its machines and switches them off.",
}
"""What becomes of the machines of a pool, by its kind."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The flags of the command: parts that lose their protection, and whether nobody is asked."""

    lift: Sequence[str]
    yes: bool


def command(root: Path, environment: str, wanted: Wanted) -> int:
    """Destroy an environment; return the exit code.

    It is 1 where something is left or may be, because it could not be asked, and 2 for bad input.
    """
    console = Console(stderr=True, soft_wrap=True, highlight=False, emoji=False)
    try:
        tracked = stack_file(root, environment)
        settings = load(tracked)
        tools = ensure(("pulumi",), console=console)
        stack = DeployedStack(
            root=root,
            environment=environment,
            pulumi=tools.path("pulumi"),
            variables=variables(tools.environment()),
            arguments=(f"--stack={environment}", f"--config-file={tracked}"),
        )
        teardown = Teardown(settings=settings, stack=stack, lifted=wanted.lift)
        resources = teardown.deployed()
        if not things(resources):
            console.print(f"Nothing is deployed: the stack {environment} has no resources.")
            left = list(teardown.left())
            _tell(left)
            return LEFT if any(each.names and each.ours for each in left) else GONE
        if not _agreed(console, teardown, resources, wanted):
            return UNKNOWN
    except (SettingsError, ToolchainError, StackError) as error:
        console.print(str(error), style="red", markup=False)
        return UNKNOWN
    return tear_down(console, teardown)


def tear_down(console: Console, teardown: Teardown) -> int:
    """Do it, whoever has agreed to it; a run that was ended goes on when it is started again."""
    environment = teardown.settings.environment
    try:
        with interruptible():
            console.print("Ending rented machines; Karpenter drains them first.")
            teardown.end_rented(lambda line: console.log(line, markup=False))
            with console.status("pulumi destroy") as now:
                teardown.destroy(
                    lambda done: now.update(f"pulumi destroy: {done.finished} resources")
                )
            left = list(teardown.left())
    except (KubeError, StackError) as error:
        console.print(str(error), style="red", markup=False)
        console.print(f"{environment} is not gone: `fleet destroy {environment}` goes on.")
        return LEFT
    except Interrupted as interrupted:
        console.print(f"Stopped: `fleet destroy {environment}` goes on.")
        return interrupted.exit_code
    _tell(left)
    return LEFT if any((each.names and each.ours) or each.ask for each in left) else GONE


def _tell(left: Sequence[Left]) -> None:
    for each in left:
        if each.ask:
            typer.echo(f"{each.kind}: ask with `{each.ask}`")
            continue
        more = ", …" if len(each.names) > SHOWN else ""
        names = f": {', '.join(each.names[:SHOWN])}{more}" if each.names else ""
        typer.echo(f"{each.kind}: {len(each.names)}{names}")


def _agreed(
    console: Console, teardown: Teardown, resources: Sequence[Resource], wanted: Wanted
) -> bool:
    """Say what goes and what stays, and let the person type the name of the environment."""
    environment = teardown.settings.environment
    held = teardown.held(resources)
    for name, kept in held.items():
        if name in wanted.lift:
            console.print(f"{name} goes, too: {counted(kept)}.", style="red", markup=False)
        else:
            console.print(
                f"{name} is protected and stays, with what it needs: {counted(kept)} "
                f"(--lift {name} takes it).",
                markup=False,
            )
    for line in _pools(teardown, resources, {*held} - {*wanted.lift}):
        console.print(line, markup=False)
    if wanted.yes:
        return True
    try:
        typed = typer.prompt(f'Type "{environment}" to destroy it', err=True)
    except typer.Abort:
        console.print(f"\nNobody typed {environment}: nothing was done (--yes does not ask).")
        return False
    if typed != environment:
        console.print(f'You typed "{typed}": nothing was done.', markup=False)
    return bool(typed == environment)


def _pools(
    teardown: Teardown, resources: Sequence[Resource], staying: Collection[str]
) -> Iterator[str]:
    """Yield what becomes of each pool that is there, and what the stack file does not know."""
    for pool, kind in pools(resources).items():
        title = teardown.title(pool)
        yield f"Pool {title}: {STAYS if title in staying else ENDS[kind]}"
    if strange := unknown(resources, teardown.settings):
        yield f"Deployed, and not in the stack file: {', '.join(strange)}."
