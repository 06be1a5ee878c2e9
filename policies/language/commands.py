"""The commands that a container runs, as far as its words tell: one line of a script each.

Words without a shell are one command. With a shell among them, its script is taken apart at line
ends and at `;`, `&` and `|`, outside of quotes and without comments. What files of the image do,
and what variables say, nobody sees here. The API server pays for every character: what is too long
together, of all pods of an object, is not read at any gate.
"""

import re
from collections.abc import Iterable, Mapping

from policies.language import cel
from policies.language.manifest import items
from policies.language.pod import Pod

_SHELL = r"^(/[a-z/]*/)?(ba|z|da|k|a)?sh$"
_CODE = r"""^("[^"]*"|'[^']*'|[^#\s"']#*|\s|["'])*"""
"""A line up to its comment: `#` begins one at the start of a word, outside of quotes."""
_COMMAND = r"""([<>]&[0-9-]?|&>|"([^"\\]|\\[\s\S])*"|'[^']*'|\\[\s\S]|[^;&|\n"'\\]|["'\\])+"""
_code, _command = re.compile(_CODE, re.ASCII), re.compile(_COMMAND, re.ASCII)
_shell, _blank = re.compile(_SHELL), re.compile(r"\s", re.ASCII)


def commands(container: Mapping[str, object]) -> list[str]:
    """Return what a container's command and arguments run."""
    words = [str(each) for part in ("command", "args") for each in items(container.get(part))]
    if not any(map(_shell.match, words)):
        return [" ".join(words)]
    return [found[0] for found in _command.finditer(" ".join(map(_script, words)))]


LONGEST, MOST = 30_000, 500
"""More characters, or more commands, of the pods of an object that ask for GPUs are not read."""
_PER_WORD = 10
_END = re.compile("[;&|\\n]")


def are_read(pods: Iterable[Pod]) -> bool:
    """Return whether the commands of pods are few and short enough to be read."""
    words = [
        str(word)
        for pod in pods
        for container in pod.containers
        for part in ("command", "args")
        for word in items(container.get(part))
    ]
    long = sum(len(word) + _PER_WORD for word in words) > LONGEST
    return not long and sum(len(_END.findall(word)) for word in words) <= MOST


def _script(word: str) -> str:
    """A word without comments; one with blanks is a script and stands for itself."""
    lines = [found[0] for line in word.split("\n") if (found := _code.match(line))]
    return "\n".join(["", *lines, ""]) if _blank.search(word) else word


_WORDS = "(c.?command.orValue([]) + c.?args.orValue([])).map(w, '%s'.format([w]))"
_CEL_SCRIPT = (
    f"w.matches('\\\\s') ? '\\n' + w.split('\\n').map(l, l.find({cel.literal(_CODE)})).join('\\n') "
    "+ '\\n' : w"
)
COMMANDS = (
    f"[{_WORDS}].map(words, words.exists(w, w.matches({cel.literal(_SHELL)})) ? "
    f"words.map(w, {_CEL_SCRIPT}).join(' ').findAll({cel.literal(_COMMAND)}) : "
    "[words.join(' ')])[0]"
)
"""CEL: `commands` of a container `c`."""


def cel_are_read(pods: str) -> str:
    """CEL: `are_read`."""
    words = "(c.?command.orValue([]) + c.?args.orValue([]))"
    long = f"{words}.map(w, size(w) + {_PER_WORD}).sum()"
    many = f"{words}.map(w, size(w.findAll('[;&|\\\\n]'))).sum()"
    each = "{pods}.map(p, p.containers.map(c, {of}).sum()).sum()"
    return (
        f"({each.format(pods=pods, of=long)} <= {LONGEST} && "
        f"{each.format(pods=pods, of=many)} <= {MOST})"
    )
