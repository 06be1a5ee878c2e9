"""Judges the scripts of a node: bash must read them, and nothing in them ends them at once.

Their syntax is bash's own verdict (`bash -n`, which runs nothing); where PATH has no bash it stays
open, and the caller is told so.
"""

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from functools import lru_cache

from ignition.boot.config import BootConfig
from ignition.boot.parsing import names
from ignition.boot.unit_syntax import parse

_SHELLS = names("bash sh")
# what Flatcar's /usr/bin has that can stand in a #! line
_INTERPRETERS = _SHELLS | names("env awk gawk sed")
_HEAD = re.compile(r"#!\s*/(?:usr/)?bin/([\w.+-]+)(?:[ \t]+(\S+))?[^\n]*(?:\n|$)")
_QUOTED = re.compile(r"\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
_HEREDOC = re.compile(r"<<-?\s*([\"']?)(\w+)\1([^\n]*)\n.*?^\t*\2$", re.MULTILINE | re.DOTALL)
_OPEN = names("if for while until select case { (")
_CLOSE = names("fi done esac } )")
_BETWEEN = names("then do else elif time")
_ENDS = ("\n", ";", "&", ";;", ";;&")
_JOINS = ("&&", "||", "|")
_FAILS = names("false /bin/false /usr/bin/false")
_STOPS_MACHINE = re.compile(
    r"(?:/usr/s?bin/|/s?bin/)?(?:reboot|poweroff|halt|shutdown|kexec|init|telinit)\b"
    r"|(?:/usr/bin/|/bin/)?systemctl\s+(?:-\S+\s+)*"
    r"(?:reboot|poweroff|halt|kexec|rescue|emergency|isolate|default|suspend|hibernate|soft-reboot)\b"
)
_SECONDS = 10


def check(config: BootConfig, problems: list[str]) -> tuple[str, ...]:
    """Add the faults of scripts to `problems`; return what could not be checked, in words."""
    for path, file in sorted(config.files.items()):
        if file.text and "\r\n" in file.text:
            problems.append(
                f"{path} has lines that end with a carriage return, which becomes part of what is "
                "read; write it with line feeds alone"
            )
    problems += (
        f"{unit.name} has carriage returns; write it with line feeds alone"
        for unit in config.units.values()
        if any("\r" in text for text in (unit.contents or "", *unit.dropins.values()))
    )
    scripts = dict(_scripts(config))
    for where, (shell, text) in scripts.items():
        if fault := _syntax(text) if _bash() else None:
            problems.append(f"{where} is no {shell} ({fault}); correct it")
        problems += (f"{where}: {fault}" for fault in _ends(text))
    for path, file in sorted(config.files.items()):
        if file.text and file.text.startswith("#!"):
            problems += _interpreter(path, file.text)
    if scripts and not _bash():
        return (f"the syntax of {len(scripts)} scripts, because PATH has no bash",)
    return ()


def _scripts(config: BootConfig) -> Iterator[tuple[str, tuple[str, str]]]:
    """Each shell script by where it stands: files, and commands of `sh -c` in units."""
    for path, file in config.files.items():
        head = _HEAD.match(file.text or "")
        shell = head and (head[2] if head[1] == "env" else head[1])
        if shell in _SHELLS:
            yield path, (str(shell), file.text or "")
    for unit in config.units.values():
        for text in (unit.contents or "", *unit.dropins.values()):
            for number, line in enumerate(parse(text)):
                if line.name.startswith("Exec") and (command := _command(line.value)):
                    yield f"{unit.name} ({line.name} {number + 1})", ("sh", command)


def _command(value: str) -> str | None:
    """The command that `sh -c` gets, as systemd hands it over."""
    try:
        words = shlex.split(value.lstrip("-@:+!|"))
    except ValueError:
        return None
    if len(words) < 3 or words[0].rpartition("/")[2] not in _SHELLS:
        return None
    option = next((i for i, word in enumerate(words[1:-1], 1) if re.fullmatch(r"-\w*c", word)), 0)
    return words[option + 1].replace("$$", "$").replace("%%", "%") if option else None


def _interpreter(path: str, text: str) -> Iterator[str]:
    head = _HEAD.match(text)
    name = head and (head[2] if head[1] == "env" else head[1])
    if head is None or head[1] not in _INTERPRETERS or name not in _INTERPRETERS:
        yield (
            f"{path} is run by an interpreter that Flatcar has not ({text.splitlines()[0][:40]}); "
            "write #!/usr/bin/bash"
        )


@lru_cache(maxsize=1)
def _bash() -> str | None:
    return shutil.which("bash")


@lru_cache(maxsize=1024)
def _syntax(text: str) -> str | None:
    """What bash says of a script's syntax, None where it is right."""
    command = [_bash() or "bash", "--norc", "--noprofile", "-n"]
    environment = {"LC_ALL": "C", "PATH": "/usr/bin:/bin"}
    try:
        done = subprocess.run(
            command,
            input=text,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
            env=environment,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    if not done.returncode:
        return None
    first = re.search(r"line \d+: [^\n`]*", done.stderr)
    return first[0].strip() if first else "bash -n refuses it"


@lru_cache(maxsize=1024)
def _ends(text: str) -> tuple[str, ...]:
    return tuple(_early_ends(text))


def _early_ends(text: str) -> Iterator[str]:
    """Yield what ends a script wherever it runs: commands outside of any condition."""
    found = list(_unconditional(text))
    for index, command in enumerate(found):
        words = command.split()
        last = index == len(found) - 1
        failing = words[0] in _FAILS or " ".join(words) in ("! true", "! :")
        if failing:
            yield f'"{command[:40]}" fails whenever it runs; remove it'
        elif words[0] in ("exit", "return", "logout") and not last:
            yield f'"{command[:40]}" ends it, and what follows never runs; remove it'
        elif (
            words[0] == "exit"
            and words[1:]
            and words[1] != "0"
            and not words[1].startswith(("$", '"'))
        ):
            yield f'"{command[:40]}" makes it fail whenever it runs; remove it'
        elif (
            words[0] == "exec"
            and not last
            and len(words) > 1
            and words[1][0] not in "<>0123456789&{"
        ):
            yield (
                f'"{command[:40]}" takes its place, and what follows never runs; move it to the end'
            )
        elif words[0] == "set" and (
            "noexec" in words or any(re.fullmatch(r"-\w*n\w*", w) for w in words)
        ):
            yield f'"{command[:40]}" makes bash run nothing that follows; remove it'
        elif words[:2] in (["kill", "$$"], ["sleep", "infinity"], ["sleep", "inf"], ["wait", "-f"]):
            yield f'"{command[:40]}" never lets it end well; remove it'
        elif _STOPS_MACHINE.match(command):
            yield f'"{command[:40]}" takes the machine down at each boot; remove it'


def _unconditional(text: str) -> Iterator[str]:
    """The commands that run whatever happens: on no branch, in no loop, beside no && or ||."""
    text = re.sub(r"\\\n", " ", text)
    text = _HEREDOC.sub(lambda match: match[3] + "\n", text)
    text = _QUOTED.sub(
        lambda match: '"…"' if len(match[0]) > 2 or match[0][0] in "\"'" else " ", text
    )
    text = re.sub(r"\$\(\(.*?\)\)|\(\(.*?\)\)", "…", text, flags=re.DOTALL)
    while re.search(r"\$\([^()]*\)", text):
        text = re.sub(r"\$\([^()]*\)", "…", text)
    text = re.sub(r"(?m)(^|[\s;])#.*$", r"\1", text)
    parts = re.split(r"(\n|;;&?|;|&&|\|\|?|(?<![<>&\d])&(?![>&]))", text)
    depth, joined = 0, False
    for part, following in zip(parts, [*parts[1:], ""], strict=True):
        words = part.split()
        if part in _ENDS:
            joined = False
        elif part in _JOINS:
            joined = True
        elif words:
            plain = depth == 0 and not joined and following not in _JOINS
            depth = max(depth + sum(map(_step, words, range(len(words)))), 0)
            if plain and depth == 0 and words[0] not in _OPEN | _BETWEEN:
                yield " ".join(words)


def _step(word: str, place: int) -> int:
    """How much deeper a word leads: only at the start of a command, but for brackets."""
    if word in ("{", "}") or place == 0:
        return (word in _OPEN or word.startswith("(")) - (word in _CLOSE)
    return 0
