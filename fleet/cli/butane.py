"""`fleet butane FILE`: Butane to Ignition, without the rest of the program."""

import json
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer


def butane(  # noqa: PLR0913  # the flags of Butane's own command
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="Butane, variant flatcar, 1.0.0 or 1.1.0; - reads standard input."
        ),
    ] = "-",
    *,
    pretty: Annotated[bool, typer.Option("--pretty", "-p", help="Indent the JSON.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write to FILE instead of standard output."
        ),
    ] = None,
    files_dir: Annotated[
        Path | None,
        typer.Option(
            "--files-dir", "-d", metavar="DIR", help="Embed `local` files from this folder."
        ),
    ] = None,
    check: Annotated[bool, typer.Option("--check", "-c", help="Only check.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict/--no-strict", "-s", help="Fail on warnings too.")
    ] = True,
) -> None:
    """Translate Butane to Ignition, as `butane --strict`.

    Contents are never compressed.

    \b
    Example:
      fleet butane boot-data/dgx/butane.yaml --check

    Exit code 1 if the file cannot be read or translated.
    """
    from ignition.butane import ButaneError, FilesDir, translate

    files = None if files_dir is None else FilesDir(files_dir)
    try:
        config, warnings = translate(_read(source), strict=strict, files=files)
    except ButaneError as error:
        _say([problem.report() for problem in error.found] or [f"error: {error}"])
        if error.found and all(problem.warning for problem in error.found):
            _fail("Config produced warnings, which --no-strict would let pass")
        _fail("Error translating config: it is not valid")
    _say([problem.report() for problem in warnings])
    if not check:
        _write(_text(config, pretty=pretty), output)


def _read(source: str) -> str:
    name = "<stdin>" if source == "-" else source
    try:
        data = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
        return data.decode()
    except (OSError, UnicodeDecodeError) as error:
        _fail(f"failed to read {name}: {error}")


def _text(config: dict[str, object], *, pretty: bool) -> str:
    """JSON as Go writes it: the characters that HTML reserves are escaped."""
    if pretty:
        text = json.dumps(config, indent=2, ensure_ascii=False)
    else:
        text = json.dumps(config, separators=(",", ":"), ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return f"{text}\n"


def _write(text: str, output: Path | None) -> None:
    if output is None:
        sys.stdout.write(text)
        return
    try:
        output.write_text(text)
    except OSError as error:
        _fail(f"failed to write {output}: {error}")


def _say(reports: list[str]) -> None:
    for report in reports:
        typer.echo(report, err=True)


def _fail(sentence: str) -> NoReturn:
    typer.echo(sentence, err=True)
    raise typer.Exit(1)
