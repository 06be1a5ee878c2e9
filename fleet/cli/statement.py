"""`fleet statement sign|verify`: a rehearsal as a statement that others can check."""

from pathlib import Path
from typing import Annotated

import typer

from fleet.cli.command import Command
from fleet.cli.place import ROOT, Environment
from fleet.cli.printing import complain, refuse

HELP = """\
Sign or verify the statement that a rehearsal makes.

\b
Examples:
  fleet statement sign dev --key ~/.fleet/rehearsal.pem
  fleet statement verify dev signed.json --commit "$(git rev-parse HEAD)"
"""

statement = typer.Typer(
    help=HELP,
    short_help="Sign or verify the statement of a rehearsal.",
    no_args_is_help=True,
)


@statement.command("sign", cls=Command)
def sign(
    environment: Environment,
    *,
    key: Annotated[Path, typer.Option("--key", metavar="FILE", help="The private key, in PEM.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", metavar="FILE", help="Default: .rehearsal/ENV/statement.signed.json."
        ),
    ] = None,
) -> None:
    """Sign the statement of the last rehearsal.

    The key may be Ed25519, ECDSA or RSA. Its passphrase is asked for, or is taken from the variable
    FLEET_KEY_PASSPHRASE.

    \b
    Example:
      fleet statement sign dev --key ~/.fleet/rehearsal.pem

    Exit code 2 if the environment was not rehearsed here, if that failed, or if the checkout had
    changes that no commit has.
    """
    from fleet.statement.command import sign_last
    from fleet.statement.envelope import StatementError
    from settings import SettingsError

    try:
        typer.echo(f"Wrote {sign_last(ROOT, environment, key, output)}.")
    except (SettingsError, StatementError) as error:
        refuse(error)


@statement.command("verify", cls=Command)
def verify(
    environment: Environment,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The statement, signed or not.")],
    *,
    commit: Annotated[
        str, typer.Option("--commit", metavar="SHA", help="The commit it must be about, in full.")
    ],
    from_this_run: Annotated[
        bool,
        typer.Option(
            "--from-this-run",
            help="Take an unsigned one, made by this workflow run.",
        ),
    ] = False,
) -> None:
    """Verify that an environment was rehearsed at a commit.

    The statement must be signed by a key of gpu-fleet:rehearsal.keys, be about this commit and
    this stack file, without further changes, and the rehearsal must have passed.

    \b
    Examples:
      fleet statement verify dev signed.json --commit "$(git rev-parse HEAD)"
      fleet statement verify dev s.json --commit "$GITHUB_SHA" --from-this-run

    Exit code 1 if it does not hold, 2 if there is no such file or environment, if the file is not
    JSON, or if SHA is no commit in full.
    """
    from fleet.statement.command import WrongInputError, verify_file
    from fleet.statement.envelope import StatementError
    from settings import SettingsError

    try:
        found = verify_file(ROOT, environment, file, commit=commit, from_this_run=from_this_run)
    except (SettingsError, WrongInputError) as error:
        refuse(error)
    except StatementError as error:
        complain(str(error))
        raise typer.Exit(1) from None
    vouches = f"signed by {found.signed_by}" if found.signed_by else "of this workflow run"
    states = list(found.predicate["rules"].values())
    told = f"{states.count('held')} of {len(states)} rules hold"
    typer.echo(f"{environment} was rehearsed at {commit}, {vouches}: it passed, {told}.")
    for sentence in found.predicate["notRehearsed"]:
        typer.echo(f"Not rehearsed: {sentence}")
