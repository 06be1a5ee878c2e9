"""Asks on a terminal what a new environment is made from."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import typer

from fleet.init.answers import CPU_SERVER, AnswerError, Answers, Owned, Rented, check_name, machine
from fleet.init.machines import read_machines
from hardware.catalogue import MachineKind

T = TypeVar("T")


def ask(name: str | None) -> Answers:
    """Ask for what is not known; each answer that cannot be used is asked for again."""
    name = name or _asked("Name of the environment", _name("the name"), "lab")
    owned = _owned() if typer.confirm("Do you own GPU machines?", default=True) else None
    rented = None
    if typer.confirm("Rent GPU machines in AWS when jobs wait?", default=owned is None):
        hardware = _asked("  Which instance type", _machine("aws"), "p5e.48xlarge")
        rented = Rented(hardware=hardware, region=_asked("  Region", str, "us-east-1"))
    typer.echo(f"Servers of Hetzner ({CPU_SERVER}) run the cluster's own software and CPU jobs.")
    location = _asked("  Location", str, "hel1")
    servers = _asked("  How many", int, "3")
    team = _asked("Name of the first team", _name("the team's name"), "research")
    return Answers(
        name=name, team=team, owned=owned, rented=rented, location=location, servers=servers
    )


def _owned() -> Owned:
    hardware = _asked("  Which machine of the catalogue", _machine("bare-metal"), "dgx-h200")
    site = _asked("  Name of their site", _name("the site's name"), "hall")
    machines = _asked(
        "  File with them: CSV, YAML, or BareMetalHosts as kubectl prints them; empty for none",
        lambda file: read_machines(Path(file)) if file else (),
        "",
    )
    return Owned(hardware=hardware, site=site, machines=machines)


def _asked(question: str, read: Callable[[str], T], default: str) -> T:
    while True:
        given = typer.prompt(question, default=default, show_default=bool(default))
        try:
            return read(str(given).strip())
        except AnswerError as error:
            typer.echo(f"    {error}", err=True)
        except ValueError:
            typer.echo(f'    "{given}" is no whole number.', err=True)


def _name(what: str) -> Callable[[str], str]:
    def read(given: str) -> str:
        check_name(what, given)
        return given

    return read


def _machine(kind: MachineKind) -> Callable[[str], str]:
    return lambda given: machine(given, kind).name
