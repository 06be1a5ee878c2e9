"""Writes the files of a new environment, after it has read them as Pulumi would."""

import csv
import io
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fleet.init.answers import PLACE, AnswerError, Answers, check_name
from fleet.init.stackfile import owned_pool, stack_text
from policies.environment import load
from settings import SettingsError
from settings.inventory import COLUMNS

MOST_INLINE = 4
"""More machines than these stand in a file of their own."""


@dataclass(frozen=True, kw_only=True)
class Placeholder:
    """A line that people have to fill in, and what belongs there."""

    file: str
    line: int
    what: str


@dataclass(frozen=True, kw_only=True)
class Written:
    """The files of a new environment, by their path in the checkout, and their placeholders."""

    files: tuple[str, ...]
    placeholders: tuple[Placeholder, ...]


def write(root: Path, answers: Answers, *, overwrite: bool = False) -> Written:
    """Write the environment into `root/stacks`; raises AnswerError, and then writes nothing."""
    check_name("the environment's name", answers.name)
    files = _files(answers)
    there = [name for name in files if (root / "stacks" / name).exists()]
    if there and not overwrite:
        raise AnswerError(f"stacks/{there[0]} is there already; --overwrite writes it anew.")
    _check(answers.name, files)
    for name, text in files.items():
        (root / "stacks" / name).write_text(text, encoding="utf-8")
    return Written(
        files=tuple(f"stacks/{name}" for name in files),
        placeholders=tuple(_placeholders(files)),
    )


def _files(answers: Answers) -> dict[str, str]:
    """Return the texts by file name: the stack file, and the machines where they are many."""
    owned, found = answers.owned, {}
    inventory = None
    if owned and (len(owned.machines) > MOST_INLINE or not _plain(owned.machines)):
        inventory = f"{answers.name}-{owned_pool(owned)}.csv"
        found[inventory] = _csv(owned.machines)
    return {f"Pulumi.{answers.name}.yaml": stack_text(answers, inventory), **found}


def _plain(machines: Sequence[Mapping[str, str]]) -> bool:
    """Whether the entries have just the fields of the lines in the template."""
    fields = {"name", "bmc_address", "boot_mac_address", "system_drive_serial"}
    return all({*each} == fields for each in machines)


def _csv(machines: Sequence[Mapping[str, str]]) -> str:
    columns = [name for name in COLUMNS if any(name in each for each in machines)]
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(machines)
    return text.getvalue()


def _check(name: str, files: Mapping[str, str]) -> None:
    """Read the files as Pulumi would, elsewhere; raises AnswerError with every mistake."""
    with tempfile.TemporaryDirectory(prefix="fleet-init-") as folder:
        for file, text in files.items():
            Path(folder, file).write_text(text, encoding="utf-8")
        try:
            load(Path(folder, f"Pulumi.{name}.yaml"))
        except SettingsError as error:
            told = re.sub(rf"(\.\./)*\S*{re.escape(Path(folder).name)}/", "stacks/", str(error))
            raise AnswerError(
                f"Nothing is written, because it would not be valid:\n{told}"
            ) from None


def _placeholders(files: Mapping[str, str]) -> Iterator[Placeholder]:
    for name, text in files.items():
        for number, line in enumerate(text.splitlines(), 1):
            if found := re.search(rf"# {PLACE}: (.+)", line):
                yield Placeholder(file=f"stacks/{name}", line=number, what=found[1])
            elif name.endswith(".csv") and f"{PLACE}-" in line:
                what = f"the serial number of the system drive of {line.partition(',')[0]}"
                yield Placeholder(file=f"stacks/{name}", line=number, what=what)
