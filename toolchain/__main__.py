"""The command line: `python -m toolchain [program …]` builds the programs that are missing.

Without names it leaves out those that a few slow tests alone ask for.

`python -m toolchain exec pulumi …` runs a program in place of this one, in its environment.

`python -m toolchain take FILE SHA256` takes the programs from the archive of a release instead,
`python -m toolchain pack FILE` makes such an archive.
"""

import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import NoReturn

from rich.console import Console

from toolchain.archive import pack, take
from toolchain.build import ToolchainError, ensure
from toolchain.programs import PROGRAMS


def main(arguments: list[str]) -> int:
    """Run the command line; return its exit code."""
    console = Console(stderr=True, emoji=False)
    try:
        if arguments[:1] == ["exec"] and arguments[1:]:
            _become(arguments[1], arguments[1:], console)
        if arguments[:1] == ["pack"]:
            _pack(arguments[1:], console)
            return 0
        if arguments[:1] == ["take"]:
            _take(arguments[1:], console)
            return 0
        unknown = [name for name in arguments if name not in PROGRAMS]
        if unknown:
            raise ToolchainError(
                f"No program is called {unknown[0]!r}: there are {', '.join(PROGRAMS)}."
            )
        ensure(arguments or _usual(), console=console)
    except ToolchainError as error:
        console.print(f"toolchain: {error}", markup=False, highlight=False, soft_wrap=True)
        return 1
    except KeyboardInterrupt:
        console.print("toolchain: interrupted", markup=False, highlight=False)
        return 130
    return 0


def _usual() -> tuple[str, ...]:
    return tuple(name for name, program in PROGRAMS.items() if not program.on_demand)


def _pack(words: list[str], console: Console) -> None:
    if len(words) != 1:
        raise ToolchainError("`pack` takes one word: the file to write.")
    pack(Path(words[0]), console=console)


def _take(words: list[str], console: Console) -> None:
    if len(words) != 2:
        raise ToolchainError(
            "`take` takes two words: the archive, and its SHA-256 as SHA256SUMS of the release "
            "has it (`make toolchain ARCHIVE=FILE SHA256=…`)."
        )
    taken = take(Path(words[0]), words[1], console=console)
    names = ", ".join(program.name for program in taken)
    console.print(f"toolchain: took {names}", markup=False, highlight=False, soft_wrap=True)


def _become(program: str, command: list[str], console: Console) -> NoReturn:
    tools = ensure((program,), console=console)
    environment = {**os.environ, **tools.environment()}
    # Against a real account the provider plugins are downloaded when they are first needed.
    del environment["PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"]
    os.execve(tools.path(program), command, environment)  # noqa: S606  # the point of this verb


def _terminate(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _terminate)
    sys.exit(main(sys.argv[1:]))
