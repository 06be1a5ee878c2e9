"""What `fleet reinstall` asks, prints and returns."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import typer
from rich.console import Console, Group
from rich.text import Text

from engine.console import show
from engine.tables import table
from fleet.reinstall.run import Outcome, planned, reinstall
from fleet.reinstall.target import ReinstallError, Target, target_of
from kube.client import KubeError
from kube.user import users_client
from kube.waiting import duration
from settings import SettingsError, load, stack_file


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The flags of the command."""

    machines: Sequence[str]
    yes: bool
    dry_run: bool
    again: bool
    as_json: bool


def command(root: Path, environment: str, pool: str, wanted: Wanted) -> int:
    """Reinstall machines; return the exit code: 1 for a machine that failed, 2 for bad input."""
    progress = Console(stderr=True, soft_wrap=True, highlight=False, emoji=False)
    try:
        target = target_of(load(stack_file(root, environment)), pool)
        client = users_client()
        plan = planned(client, target, wanted.machines, again=wanted.again)
    except (SettingsError, ReinstallError, KubeError) as error:
        progress.print(str(error), style="red", markup=False)
        return 2
    due = [each for each in plan if each.state == "to reinstall"]
    if wanted.dry_run or not due:
        _show(target, plan, as_json=wanted.as_json)
        return 0
    if not wanted.yes and not _agreed(progress, target, plan, wanted):
        return 2
    done = []
    with progress.status(f"{len(due)} machines to reinstall") as status:

        def tell(line: str) -> None:
            progress.log(line, markup=False)

        try:
            for outcome in reinstall(client, target, plan, tell):
                done.append(outcome)
                left = len(due) - sum(each.state == "reinstalled" for each in done)
                status.update(f"{left} machines to reinstall")
        except (ReinstallError, KubeError) as error:
            progress.print(str(error), style="red", markup=False)
            return 2
    _show(target, done, as_json=wanted.as_json)
    failed = [each for each in done if each.state == "failed"]
    for each in failed:
        progress.print(" ".join(each.reasons), style="red", markup=False)
        progress.print(
            f"{each.machine} stays cordoned; nothing was done to the machines after it. "
            f"`{target.command}` goes on with it.",
            markup=False,
        )
    return int(bool(failed))


def _agreed(progress: Console, target: Target, plan: Sequence[Outcome], wanted: Wanted) -> bool:
    if wanted.as_json:
        progress.print("With --json nobody is asked: add --yes or --dry-run.", style="red")
        return False
    progress.print(_table(target, plan))
    names = sum(each.state == "to reinstall" for each in plan)
    question = (
        f"Wipe and reinstall {names} machine{'s' if names > 1 else ''} of "
        f"{target.environment}/{target.pool}, one at a time?"
    )
    try:
        return typer.confirm(question, err=True)
    except typer.Abort:
        progress.print("\nNobody answered: nothing was done (--yes does not ask).")
        return False


def _show(target: Target, outcomes: Sequence[Outcome], *, as_json: bool) -> None:
    if as_json:
        found = {
            "environment": target.environment,
            "pool": target.pool,
            "image": target.image["url"],
            "numa_plan": target.plan,
            "machines": [asdict(each) for each in outcomes],
        }
        typer.echo(json.dumps(found, indent=2))
        return
    show(_table(target, outcomes))


def _table(target: Target, outcomes: Sequence[Outcome]) -> Group:
    image = target.image["url"].rpartition("/")[2]
    title = f"{target.environment}/{target.pool}: {image}, plan {target.plan}"
    made = table("Machine", "State", "Why", "Time", whole=("Machine", "Time"))
    for each in outcomes:
        took = duration(each.seconds) if each.seconds else ""
        made.add_row(each.machine, each.state, ", ".join(each.reasons), took)
    return Group(Text(title, style="bold"), Text(), made)
