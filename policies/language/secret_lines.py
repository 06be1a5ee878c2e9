"""What gives a secret a value in a text: a line of a file, an option of a command, an address."""

import re

from policies.language import cel

_URL = "://[^\\s/:@]*:[^\\s/:@$<{(*%][^\\s/:@]*@"
_DSN = "(?i)(^|[;\\s])(host|server|data source)\\s?=[^;]*[;\\s](password|pwd)=[^\\s;$<{(*%'\"]"
_PROGRAM = "(?i)\\.(py|sh|js|ts|go|lua|rb|pl|md)$"
_WORDS = "password|passphrase|client_?secret|(secret|api|access|private)_?key"
_SHORT = "([\\w.-]*(auth|access|api|bearer|bot|refresh)[._-]?)?token"
_DIRECTIVES = "requirepass|masterauth"  # of Redis, which has a blank between name and value
_VALUE = (
    "(\"[^\"$<{(*/%\\n][^\"$<{\\n]*\"|'[^'$<{(*/%\\n][^'$<{\\n]*'"
    "|[^\\s\"'$<{(*/%&!|>~\\[#@,][^\\s\"'$<{(]*)[ \\t,}]*(#.*)?$"
)
_LINE = (
    f"(?m)^([ \\t{{-]*[\"']?([\\w.-]*({_WORDS})|{_SHORT})[\"']?[ \\t]*[:=]"
    f"|[ \\t]*({_DIRECTIVES})[ \\t])[ \\t]*{_VALUE}"
)
_OTHERWISE = (
    "[:=]\\s*[\"']?(true|false|yes|no|on|off|none|null|empty|dummy|str|string|required|optional"
    "|kms|header|query|cookie|enabled|disabled|x{3,}|os\\.environ.*|[a-z][a-z0-9+-]*://[^@]*"
    "|op://.*|vault:.*|ref\\+.*|arn:aws:.*)[\"']?[\\s,}]*(#.*)?$"
    "|token[\"']?\\s*[:=]\\s*[\"']?([a-z_./ -]*|.{0,7})[\"']?[\\s,}]*(#.*)?$"
)
_HINTS = ("pass", "secret", "key", "masterauth", "token")
_LOWER = str.maketrans({chr(code): chr(code + 32) for code in range(ord("A"), ord("Z") + 1)})
_NAMES = "passw(or)?d|passphrase|(api|access|secret|private)[_-]?key|client[_-]secret"
_TOKENS = "(hf|auth|access|api|bot|bearer|github)[_-]token"
_GIVEN = "[\"']?[^\\s\"'$<{(*%/&|;,`\\[=-][^\\s\"'$<{(`]*"
_OPTION = (
    f"(^|\\s)--?([a-z0-9._-]*[._-])?({_NAMES}|{_TOKENS}|{_DIRECTIVES})[=\\s]\\s*{_GIVEN}"
    f"|(^|[\\s;&|])([A-Z0-9_]*_)?(PASSWORD|PASSWD|PASS|PWD|PASSPHRASE|(API|ACCESS|SECRET)_KEY"
    f"|(HF|AUTH|ACCESS|API|BOT|GITHUB)_TOKEN|PGPASSWORD)={_GIVEN}"
)
_HARMLESS = (
    "[=\\s][\"']?(true|false|yes|no|on|off|none|null|empty|dummy|[0-9]{1,2}|x{3,}|not?[-_].*)$"
)
_is_url = re.compile(_URL, re.ASCII).search
_is_dsn = re.compile(_DSN, re.ASCII).search
_lines = re.compile(_LINE, re.ASCII).finditer
_is_otherwise = re.compile(_OTHERWISE, re.ASCII).search
_is_program = re.compile(_PROGRAM, re.ASCII).search


def has_password_in_url(text: str) -> bool:
    """Return whether an address carries a password: `postgres://user:password@host`."""
    return "@" in text and bool(_is_url(text))


def has_password_in_dsn(text: str) -> bool:
    """Return whether the words by which a database is reached do: `host=db password=…`."""
    return "=" in text and bool(_is_dsn(text))


def has_secret_line(name: object, text: str) -> bool:
    """Return whether a line of a file gives a secret a value; lines of programs are not read."""
    lower = text.translate(_LOWER)
    if _is_program(str(name)) or not any(hint in lower for hint in _HINTS):
        return False
    found = _lines(lower.replace("\r", "\n"))
    return any(not _is_otherwise(line[0]) for line in found)


def has_secret_option(text: str) -> bool:
    """Return whether a command gives a secret a value: `--password=…`, `export DB_PASSWORD=…`."""
    return any(not _is_harmless(found[0]) for found in _options(text))


_options = re.compile(_OPTION, re.ASCII).finditer
_is_harmless = re.compile(_HARMLESS, re.ASCII).search


def _matches(text: str, pattern: str) -> str:
    return f"{text}.matches({cel.literal(pattern)})"


def cel_has_password_in_url(text: str) -> str:
    """CEL: `has_password_in_url`."""
    return f"({text}.contains('@') && {_matches(text, _URL)})"


def cel_has_password_in_dsn(text: str) -> str:
    """CEL: `has_password_in_dsn`."""
    return f"({text}.contains('=') && {_matches(text, _DSN)})"


def cel_has_secret_line(name: str, text: str) -> str:
    """CEL: `has_secret_line`."""
    hinted = " || ".join(f"lower.contains('{each}')" for each in _HINTS)
    lines = f"lower.replace('\\r', '\\n').findAll({cel.literal(_LINE)})"
    secret = f"{lines}.exists(l, !{_matches('l', _OTHERWISE)})"
    read = f"[{text}.lowerAscii()].exists(lower, ({hinted}) && {secret})"
    return f"(!{_matches(name, _PROGRAM)} && {read})"


def cel_has_secret_option(text: str) -> str:
    """CEL: `has_secret_option`."""
    found = f"{text}.findAll({cel.literal(_OPTION)})"
    return f"{found}.exists(o, !{_matches('o', _HARMLESS)})"
