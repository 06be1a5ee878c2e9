"""What standard output and error show where they have ASCII alone."""

import codecs
import io
import sys

IN_ASCII = {
    "\N{CHECK MARK}": "+",
    "\N{BALLOT X}": "x",
    "\N{MULTIPLICATION SIGN}": "x",
    "\N{EN DASH}": "-",
    "\N{EM DASH}": "-",
    "\N{BOX DRAWINGS LIGHT HORIZONTAL}": "-",
    "\N{MIDDLE DOT}": ";",
    "\N{HORIZONTAL ELLIPSIS}": "...",
    "\N{RIGHTWARDS ARROW}": "->",
    "\N{LESS-THAN OR EQUAL TO}": "<=",
}
_ERRORS = "fleet-in-ascii"


def print_what_the_output_can() -> None:
    """Let standard output and error write a sign that their encoding lacks as one of ASCII."""
    codecs.register_error(_ERRORS, _in_ascii)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_ERRORS)


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    return "".join(IN_ASCII.get(sign, "?") for sign in signs), error.end
