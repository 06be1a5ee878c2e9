"""What `fleet destroy` asks, prints and returns."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.console import Console

from engine.interrupts import Interrupted, interruptible
from fleet.destroy.run import Teardown
from fleet.destroy.stack import DeployedStack, DestroyError, kind_of, variables
from kube.client import KubeError
from settings import SettingsError, load, stack_file
from toolchain.build import ToolchainError, ensure

GONE, LEFT, UNKNOWN = 0, 1, 2
SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The flags of the command: parts that lose their protection, and whether nobody is asked."""

    lift: Sequence[str]
    yes: bool


def command(root: Path, environment: str, wanted: Wanted) -> int:
    """Destroy an environment; return the exit code.

    It is 1 where something is left or may be, because it could not be asked, and 2 for bad input.
    """
    console = Console(stderr=True, soft_wrap=True, highlight=False)
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
        if not _agreed(console, teardown, wanted):
            return UNKNOWN
    except (SettingsError, ToolchainError, DestroyError) as error:
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
    except (KubeError, DestroyError) as error:
        console.print(str(error), style="red", markup=False)
        console.print(f"{environment} is not gone: `fleet destroy {environment}` goes on.")
        return LEFT
    except Interrupted as interrupted:
        console.print(f"Stopped: `fleet destroy {environment}` goes on.")
        return interrupted.exit_code
    for each in left:
        if each.ask:
            typer.echo(f"{each.kind}: ask with `{each.ask}`")
            continue
        more = ", …" if len(each.names) > SHOWN else ""
        names = f": {', '.join(each.names[:SHOWN])}{more}" if each.names else ""
        typer.echo(f"{each.kind}: {len(each.names)}{names}")
    return LEFT if any(each.names or each.ask for each in left) else GONE


def _agreed(console: Console, teardown: Teardown, wanted: Wanted) -> bool:
    """Say what goes and what stays, and let the person type the name of the environment."""
    environment = teardown.settings.environment
    held = teardown.held()
    for name, resources in held.items():
        kinds = Counter(map(kind_of, resources))
        counted = ", ".join(f"{number} {kind}" for kind, number in kinds.items())
        if name in wanted.lift:
            console.print(f"{name} goes, too: {counted}.", style="red", markup=False)
        else:
            console.print(
                f"{name} is protected and stays, with what it needs: {counted} "
                f"(--lift {name} takes it).",
                markup=False,
            )
    for pool in teardown.settings.pools.values():
        end = _end_of(pool.declared.kind, pool.title, held, wanted)
        console.print(f"Pool {pool.title}: {end}")
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


def _end_of(kind: str, name: str, held: object, wanted: Wanted) -> str:
    if kind == "aws":
        return "no new machine comes; those there are drain and end."
    if kind == "hetzner":
        return "its servers are deleted."
    if isinstance(held, dict) and name in held and name not in wanted.lift:
        return "its machines stay as they are."
    return "Metal3 wipes its machines and switches them off."
