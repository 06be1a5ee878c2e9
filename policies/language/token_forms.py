"""The forms by which private keys and well-known tokens are told, in Python and in CEL.

The forms are those of gitleaks v8.30.1 (config/gitleaks.toml), as few and as short as will do: the
API server charges for a regular expression by its length and by that of the text, so that each is
asked only of a text that contains its prefix. In base64 a prefix has three spellings, by where it
begins, and letters and digits are known by their upper bits.
"""

import base64
import re
from dataclasses import dataclass

_LETTERS = "([M-Za-e][D-HT-Xj-nz0-3][ABEFIJMNQRUVYZcdghklopstwx014589].){%d}"
"""Three letters or digits in base64, each with what its upper bits allow."""


@dataclass(frozen=True, kw_only=True)
class Form:
    """What a secret looks like, and the prefixes of which each has one."""

    prefixes: tuple[str, ...]
    pattern: str
    follows: int
    """How many times three letters follow a prefix at least."""
    in_base64: tuple[str, ...] = ()
    """Longer prefixes, where the others are too short to be told in base64."""


FORMS = (
    Form(
        prefixes=("PRIVATE",),
        pattern="-----BEGIN [A-Z0-9 ]*PRIVATE",
        follows=0,
        in_base64=("PRIVATE KEY-",),
    ),
    Form(
        prefixes=("AKIA", "ASIA"),
        pattern="\\bA[KS]IA[A-Z0-9]{16}\\b",
        follows=4,
    ),
    Form(
        prefixes=("gh",),
        pattern="gh[pousr]_[0-9A-Za-z]{36}",
        follows=8,
        in_base64=("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    ),
    Form(prefixes=("github_pat_",), pattern="github_pat_\\w{36}", follows=4),
    Form(prefixes=("glpat-",), pattern="glpat-[\\w-]{20}", follows=2),
    Form(prefixes=("hf_",), pattern="(^|\\W)hf_[0-9A-Za-z]{34}", follows=9),
    Form(
        prefixes=("sk-proj-", "sk-ant-", "sk-admin-", "sk-svcacct"),
        pattern="sk-[a-z]+-[\\w-]{20}",
        follows=2,
    ),
    Form(prefixes=("sk-",), pattern="(^|[^\\w-])sk-[0-9A-Za-z]{32}", follows=10),
    Form(
        prefixes=("xox",),
        pattern="xox[abeoprs]-[0-9A-Za-z-]{10}",
        follows=2,
        in_base64=tuple(f"xox{letter}-" for letter in "abeoprs"),
    ),
    Form(prefixes=("AIza",), pattern="(^|\\W)AIza[\\w-]{35}", follows=6),
    Form(prefixes=("nvapi-",), pattern="nvapi-[\\w-]{40}", follows=8),
    Form(  # a JSON Web Token
        prefixes=("eyJ",),
        pattern="eyJ[\\w-]+\\.eyJ[\\w-]+\\.[\\w-]",
        follows=4,
        in_base64=("eyJhbGciOi", "eyJ0eXAiOi", "eyJraWQiOi"),
    ),
    Form(  # of Azure's storage
        prefixes=("AccountKey",),
        pattern="AccountKey=[0-9A-Za-z+/]{8}",
        follows=2,
        in_base64=("AccountKey=",),
    ),
    Form(  # of Docker's config.json
        prefixes=('"auths"',),
        pattern='"auth":\\s*"[\\w+/=]{12}',
        follows=3,
        in_base64=('"auth":"', '"auth": "'),
    ),
)
SHORTEST = 12
"""No token and no address with a password is shorter."""
_COMPILED = [(each, re.compile(each.pattern, re.ASCII).search) for each in FORMS]


def has_token(text: str) -> bool:
    """Return whether a text contains a private key or a well-known token."""
    return any(
        any(prefix in text for prefix in form.prefixes) and bool(search(text))
        for form, search in _COMPILED
    )


def _spellings(form: Form) -> list[tuple[str, str]]:
    """What must be in base64, and the pattern of it and of what follows."""
    found = []
    for prefix in form.in_base64 or form.prefixes:
        for skipped in range(3):
            whole = base64.b64encode(b"\0" * skipped + prefix.encode()).decode()
            first, end = -(-8 * skipped // 6), 8 * (skipped + len(prefix)) // 6
            part = whole[first:end]
            follows = _LETTERS % form.follows if form.follows else ""
            place = f"^(.{{4}})*.{{{first % 4}}}"
            found.append((part, f"{place}{part}.{{{-end % 4}}}{follows}"))
    return found


_IN_BASE64 = [
    (part, re.compile(pattern).search) for form in FORMS for part, pattern in _spellings(form)
]


def has_token_in_base64(text: str) -> bool:
    """Return whether base64 contains a private key or a well-known token."""
    return any(part in text and bool(search(text)) for part, search in _IN_BASE64)


def cel_has_token(text: str) -> str:
    """CEL: `has_token`."""
    return "(" + " || ".join(cel_has_form(form, text) for form in FORMS) + ")"


def cel_has_form(form: Form, text: str) -> str:
    """CEL: whether a text has a token of one form."""
    contained = " || ".join(f"{text}.contains('{each}')" for each in form.prefixes)
    return f"(({contained}) && {text}.matches({_quoted(form.pattern)}))"


def cel_has_form_in_base64(form: Form, text: str) -> str:
    """CEL: whether base64 has a token of one form, see `has_token_in_base64`.

    In long base64 some short parts stand by chance, and each is asked of the whole text: all forms
    in one expression would cost more than the API server gives to one.
    """
    found = (
        f"({text}.contains('{part}') && {text}.matches({_quoted(pattern)}))"
        for part, pattern in _spellings(form)
    )
    return f"({' || '.join(found)})"


def _quoted(pattern: str) -> str:
    return f"r'{pattern}'"
