"""What is a secret by its name: of a variable, of a key, of a line in a file; in Python and CEL."""

import re

from policies.language import cel

_WORDS = (
    "password|passwd|passphrase|pgpass|pgpassword|token|secret|credentials?|api[_-]?key"
    "|access[_-]?key|(private|master|encryption)[_-]?key|secret[_-]?key([_-]base)?"
)
NAME = (
    f"^(.*[_.-])?(?i:{_WORDS})(_?[0-9]+)?$|(?i:[_.-](pass|pwd?)[0-9]?)$"
    "|(Password|Passphrase|Token|ApiKey|AccessKey|PrivateKey|SecretKey|Credentials)[0-9]*$"
)
"""The name of a variable or key that holds a secret."""
_COUNTED = "(?i)(^|[_.-])tokens?$"
_NUMBER = "[0-9]+(\\.[0-9]+)?"
_REFERENCE = (
    "(\\$\\([A-Za-z0-9_]+\\)|\\{\\{[^{}]+\\}\\}|\\$__\\w+\\{[^{}]*\\})+"  # Argo's, Grafana's
    "|(op://|vault:|>>vault:|ref\\+|arn:aws:(secretsmanager|ssm):|secret/|alias/|@Microsoft.KeyVault"
    "|projects/[\\w-]+/secrets/)[^\\s]+"
)
_PLACEHOLDER = "\\$\\{\\w+(:?-|:?\\?[^}]*)?\\}|\\$[A-Z_][A-Z0-9_]*"
_TO_BE_FILLED_IN = (
    "(your|insert|replace|enter)[_ -][\\w -]*|([\\w-]*[_-])?placeholder([_-][\\w-]*)?"
    # not `<pad>`, `<s>` and other tokens of a tokenizer
    f"|<[\\w .-]*({_WORDS}|your|insert|replace|enter|placeholder)[\\w .-]*>"
)
_UNFILLED = f"{_PLACEHOLDER}|(?i:{_TO_BE_FILLED_IN})"
_HARMLESS = (
    "(?i:true|false|yes|no|on|off|none|null|empty|dummy|[0-9]{1,2}|x{3,}|optional|required|unused"
    "|ignored|(sk-)?not?[-_ ](key[-_ ])?(needed|required|used|set))"
    "|[^A-Za-z0-9]+|\\[[A-Za-z_]+\\]|\\|\\w+\\||<[^<>]*>|(/[\\w.@{}$()~%:,*-]+)+/?"
    "|[a-z][a-z0-9+.-]*://[^\\s@]*|pk_\\w+"
)
_OF_SECRETS = "(?i)(tls|pull|existing|certs?|k8s|kube|kubernetes)[_.-]?secret$"
_OBJECT = "[a-z0-9][a-z0-9.-]*"
"""What a variable such as TLS_SECRET has: the name of a Secret."""
_LONGEST_REFERENCE = 2000
_JSON = '^[{\\[]\\s*["{\\[\\]}]'
_is_json = re.compile(_JSON, re.ASCII).search
_is_name = re.compile(NAME, re.ASCII).search
_is_counted = re.compile(_COUNTED, re.ASCII).search
_is_reference = re.compile(_REFERENCE, re.ASCII).fullmatch
_is_placeholder = re.compile(_UNFILLED, re.ASCII).fullmatch
_is_harmless = re.compile(_HARMLESS, re.ASCII).fullmatch
_is_number = re.compile(_NUMBER, re.ASCII).fullmatch
_is_of_secrets = re.compile(_OF_SECRETS, re.ASCII).search
_is_object = re.compile(_OBJECT, re.ASCII).fullmatch


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
    if _is_of_secrets(str(name)) and _is_object(text):
        return False
    return not (_is_counted(str(name)) and _is_number(text))


def is_file(text: str) -> bool:
    """Return whether a value of a ConfigMap is a file, of which the lines count, not the key."""
    inside = text.strip()
    return "\n" in inside or bool(_is_json(inside))


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
    counted = f"{_matches(name, _COUNTED)} && {_matches(text, f'^{_NUMBER}$')}"
    object_of = f"{_matches(name, _OF_SECRETS)} && {_matches(text, f'^{_OBJECT}$')}"
    harmless = _matches(text, f"^({_HARMLESS}|{_UNFILLED})$")
    return f"({_matches(name, NAME)} && !{harmless} && !({object_of}) && !({counted}))"


def cel_is_file(text: str) -> str:
    """CEL: `is_file`."""
    return f"({text}.trim().contains('\\n') || {_matches(f'{text}.trim()', _JSON)})"


def cel_is_unfilled(name: str, text: str) -> str:
    """CEL: `is_unfilled`."""
    return f"({_matches(name, NAME)} && {_matches(text, f'^({_UNFILLED})$')})"


def cel_has_placeholder(text: str) -> str:
    """CEL: `has_placeholder`."""
    return _matches(text, _ANY_PLACEHOLDER)
