"""The classes of the command and of its verbs: how their help looks."""

import difflib
import errno
import sys
from typing import Any

from typer.core import TyperCommand, TyperGroup

from engine.ascii_output import print_what_the_output_can
from fleet.cli.printing import refuse

SECTIONS = ("Look", "Judge", "Rehearse", "Change", "Work with files")
"""The groups of verbs in `fleet --help`, in the order in which a person needs them."""
LOOK, JUDGE, REHEARSE, CHANGE, WORK = SECTIONS
_OF_THE_EXTRA = ("cryptography", "httpx", "in_toto_attestation", "psutil", "securesystemslib")
INSTALL_THE_EXTRA = "`pip install 'gpu-fleet[rehearsal]'`"
"""What brings the modules that only a rehearsal and its kin need."""


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class Command(TyperCommand):
    """A verb whose help says `ENV`; typer's own `{ENV}` looks like a choice."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # typer hides the types of click
        """The words after the name of the verb."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments and options; typer would put the type behind the name of each argument."""
        sections: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
        for param in self.get_params(ctx):
            if record := param.get_help_record(ctx):
                name, text = record
                is_argument = param.param_type_name == "argument"
                row = (name.partition(" ")[0] if is_argument else name, text)
                sections[param.param_type_name].append(row)
        for kind, rows in sections.items():
            if rows:
                with formatter.section(f"{kind.title()}s"):
                    formatter.write_dl(rows)


class Verbs(TyperGroup):
    """The command itself: its verbs stand in groups, and a wrong one is answered with the right."""

    def invoke(self, ctx: Any) -> Any:
        """Run the verb; say in one sentence which file, folder or module it cannot use."""
        print_what_the_output_can()
        try:
            return super().invoke(ctx)
        except OSError as error:
            if error.filename is not None:
                refuse(f"{error.filename} cannot be used: {error.strerror}.")
            if error.errno not in _FULL:
                raise
            # or the end of the process tries to write the rest once more
            sys.stdout = None
            refuse(f"Nothing more can be written: {error.strerror}.")
        except ModuleNotFoundError as error:
            if error.name not in _OF_THE_EXTRA:
                raise
            refuse(f"This needs the module {error.name}: {INSTALL_THE_EXTRA} brings it.")

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the verb; refuse an unknown one in a sentence with the nearest."""
        if args[0] not in self.commands and not ctx.resilient_parsing:
            near = difflib.get_close_matches(args[0], self.commands, n=1)
            offer = f'did you mean "{near[0]}"?' if near else "`fleet --help` lists the verbs."
            refuse(f'There is no verb "{args[0]}"; {offer}')
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002  # typer gives it
        """The verbs by `rich_help_panel`; one without a panel stands last."""
        sections: dict[str, list[tuple[str, str]]] = {name: [] for name in SECTIONS}
        limit = formatter.width - 6 - max(map(len, self.commands))
        for name, verb in sorted(self.commands.items()):
            if not verb.hidden:
                panel = getattr(verb, "rich_help_panel", None) or "More"
                row = (name.ljust(max(map(len, self.commands))), verb.get_short_help_str(limit))
                sections.setdefault(panel, []).append(row)
        for title, rows in sections.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)
