"""What is a secret by its name: of a variable, of a key, of a line in a file; in Python and CEL."""

import re

from policies.language import cel

_WORDS = (
    "password|passwd|passphrase|pgpass|pgpassword|token|secret|credentials?|api[_-]?key"
    "|access[_-]?key|private[_-]?key|secret[_-]?key"
)
NAME = (
    f"^(.*[_.-])?(?i:{_WORDS})$|(?i:[_.-]pwd)$"
    "|(Password|Passphrase|Token|ApiKey|AccessKey|PrivateKey|SecretKey|Credentials)$"
)
"""The name of a variable or key that holds a secret."""
_COUNTED = "(?i)(^|[_.-])tokens?$"
_REFERENCE = (
    "(\\$\\([A-Za-z0-9_]+\\)|\\{\\{[^{}]+\\}\\})+"  # the second is Argo's
    "|(op://|vault:|>>vault:|ref\\+|arn:aws:(secretsmanager|ssm):)[^\\s]+"
)
_PLACEHOLDER = "\\$\\{\\w+(:?-|:?\\?[^}]*)?\\}|\\$[A-Z_][A-Z0-9_]*"
_TO_BE_FILLED_IN = (
    "(your|insert|replace|enter)[_ -][\\w -]*|([\\w-]*[_-])?placeholder([_-][\\w-]*)?"
    # not `<pad>`, `<s>` and other tokens of a tokenizer
    f"|<[\\w .-]*({_WORDS}|your|insert|replace|enter|placeholder)[\\w .-]*>"
)
_UNFILLED = f"{_PLACEHOLDER}|(?i:{_TO_BE_FILLED_IN})"
_HARMLESS = (
    "(?i:true|false|yes|no|on|off|none|null|empty|dummy|[01]|x{3,}|\\*{3,})"
    "|\\[[A-Za-z_]+\\]|(?s:[/<].*)"
)
_LONGEST_REFERENCE = 2000
_is_name = re.compile(NAME, re.ASCII).search
_is_counted = re.compile(_COUNTED, re.ASCII).search
_is_reference = re.compile(_REFERENCE, re.ASCII).fullmatch
_is_placeholder = re.compile(_UNFILLED, re.ASCII).fullmatch
_is_harmless = re.compile(_HARMLESS, re.ASCII).fullmatch


def is_reference(text: str) -> bool:
    """Return whether a text only says where a secret is; none of these is long."""
    return len(text) <= _LONGEST_REFERENCE and _is_reference(text) is not None


def names_secret(name: str) -> bool:
    """Return whether a name is one of a secret."""
    return bool(_is_name(name))


def is_named_secret(name: object, text: str) -> bool:
    """Return whether a text is a secret by its name; a yes, a path and a placeholder are none."""
    if not _is_name(str(name)) or _is_harmless(text) or _is_placeholder(text):
        return False
    return not (_is_counted(str(name)) and text.isdecimal())


def is_unfilled(name: object, text: str) -> bool:
    """Return whether a placeholder stands where the name says that a secret should."""
    return bool(_is_name(str(name))) and _is_placeholder(text) is not None


def has_placeholder(text: str) -> bool:
    """Return whether a part of a text is a placeholder."""
    return _any_placeholder(text) is not None


_ANY_PLACEHOLDER = f"{_PLACEHOLDER}|\\{{\\{{"
_any_placeholder = re.compile(_ANY_PLACEHOLDER, re.ASCII).search


def _matches(text: str, pattern: str) -> str:
    return f"{text}.matches({cel.literal(pattern)})"


def cel_is_reference(text: str) -> str:
    """CEL: `is_reference`."""
    return f"(size({text}) <= {_LONGEST_REFERENCE} && {_matches(text, f'^({_REFERENCE})$')})"


def cel_names_secret(name: str) -> str:
    """CEL: `names_secret`."""
    return _matches(name, NAME)


def cel_is_named_secret(name: str, text: str) -> str:
    """CEL: `is_named_secret`."""
    counted = f"{_matches(name, _COUNTED)} && {_matches(text, '^[0-9]+$')}"
    harmless = _matches(text, f"^({_HARMLESS}|{_UNFILLED})$")
    return f"({_matches(name, NAME)} && !{harmless} && !({counted}))"


def cel_is_unfilled(name: str, text: str) -> str:
    """CEL: `is_unfilled`."""
    return f"({_matches(name, NAME)} && {_matches(text, f'^({_UNFILLED})$')})"


def cel_has_placeholder(text: str) -> str:
    """CEL: `has_placeholder`."""
    return _matches(text, _ANY_PLACEHOLDER)


LONGEST_WITH_URLS, LONGEST_WITH_LINES = 500_000, 100_000
"""Longer files are searched for keys and tokens alone: the rest is too dear for the API server."""
_PROGRAM = "(?i)\\.(py|sh|js|ts|go|lua|rb|pl|md)$"
_URL = "://[^\\s/:@]*:[^\\s/:@$<{(*%][^\\s/:@]*@"
_LINE_WORDS = "password|passphrase|client_?secret|secret_?key|api_?key|access_?key|private_?key"
_VALUE = (
    "(\"[^\"$<{(*/%][^\"$<{]*\"|'[^'$<{(*/%][^'$<{]*'"
    "|[^\\s\"'$<{(*/%&!|>~\\[#@,][^\\s\"'$<{(]*)\\s*,?\\s*(#.*)?$"
)
_DIRECTIVES = "requirepass|masterauth"  # of Redis, which has a blank between name and value
_START = f"^([\\s-]*[\"']?[\\w.-]*({_LINE_WORDS})[\"']?\\s*[:=]|\\s*({_DIRECTIVES})\\s)\\s*"
_LINE = _START + _VALUE
_OTHERWISE = (
    "[:=]\\s*[\"']?(true|false|yes|no|on|off|none|null|empty|dummy|str|string|required|x{3,}"
    "|op://.*|vault:.*|ref\\+.*|arn:aws:.*)[\"']?\\s*,?\\s*(#.*)?$"
)
_HINTS = ("pass", "secret", "key", "masterauth")
_LOWER = str.maketrans({chr(code): chr(code + 32) for code in range(ord("A"), ord("Z") + 1)})
_is_url = re.compile(_URL, re.ASCII).search
_is_line = re.compile(_LINE, re.ASCII).search
_is_otherwise = re.compile(_OTHERWISE, re.ASCII).search
_is_program = re.compile(_PROGRAM, re.ASCII).search


def has_password_in_url(text: str) -> bool:
    """Return whether an address carries a password: `postgres://user:password@host`."""
    return len(text) <= LONGEST_WITH_URLS and "@" in text and bool(_is_url(text))


def has_secret_line(name: object, text: str) -> bool:
    """Return whether a line of a file gives a secret a value; lines of programs are not read."""
    if len(text) > LONGEST_WITH_LINES or "\n" not in text or _is_program(str(name)):
        return False
    return any(
        any(hint in line for hint in _HINTS) and _is_line(line) and not _is_otherwise(line)
        for line in text.translate(_LOWER).split("\n")
    )


def cel_has_password_in_url(text: str) -> str:
    """CEL: `has_password_in_url`."""
    short = f"size({text}) <= {LONGEST_WITH_URLS} && {text}.contains('@')"
    return f"({short} && {_matches(text, _URL)})"


def cel_has_secret_line(name: str, text: str) -> str:
    """CEL: `has_secret_line`."""
    hinted = " || ".join(f"l.contains('{each}')" for each in _HINTS)
    secret = f"({hinted}) && {_matches('l', _LINE)} && !{_matches('l', _OTHERWISE)}"
    read = f"size({text}) <= {LONGEST_WITH_LINES} && {text}.contains('\\n')"
    lines = f"{text}.lowerAscii().split('\\n')"
    return f"({read} && !{_matches(name, _PROGRAM)} && {lines}.exists(l, {secret}))"
