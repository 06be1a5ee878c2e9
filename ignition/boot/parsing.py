"""Parses YAML, JSON and `name = value` files as the programs on the node do; masks secrets."""

import difflib
import json
import re
from collections.abc import Iterable, Iterator

import yaml

Json = dict[str, object]
# the parser in C, where PyYAML was built with it: many nodes are judged in one run
_LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


# names and values of labels and taints: k8s.io/apimachinery/pkg/util/validation
QUALIFIED = re.compile(
    r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?", re.ASCII
)
VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?", re.ASCII)


_TOKEN = re.compile(r"\b[a-z0-9]{6}\.[a-z0-9]{16}\b", re.ASCII)


class TextError(ValueError):
    """Text that is no YAML; the message does not repeat it, since it may hold a token."""


def documents(text: str) -> list[object]:
    """The documents of a YAML file; JSON, which is YAML, is read by the faster parser."""
    try:
        return [json.loads(text)]
    except ValueError:
        pass
    try:
        return list(yaml.load_all(text, Loader=_LOADER))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark else ""
        raise TextError(f"is no YAML{where}") from None


def settings(text: str) -> Iterator[tuple[str, str | None]]:
    """The `name = value` lines of a file without comments; None where a line has no `=`."""
    for line in text.splitlines():
        stripped = line.strip()
        if stripped and stripped[0] not in "#;":
            name, sign, value = stripped.partition("=")
            yield name.strip(), value.strip() if sign else None


def shown(text: str) -> str:
    """Return a word for a message, "…" where it could be a key or a whole document."""
    return text if re.fullmatch(r"[\w./:+-]{0,32}", text, re.ASCII) else "…"


def masked(message: str) -> str:
    """Return the message without bootstrap tokens."""
    return _TOKEN.sub("…", message)


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the known name that is spelled most alike, None where none is near."""
    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=cutoff)
    return near[0] if near else None


def hint(
    name: str, known: Iterable[str], otherwise: str = "remove it", *, cutoff: float = 0.6
) -> str:
    """Return "write <the nearest known name>", `otherwise` where none is near."""
    near = nearest(name, known, cutoff)
    return f"write {near}" if near else otherwise


def mappings(value: object) -> list[dict[str, object]]:
    """The objects of a list; none where it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def names(text: str) -> frozenset[str]:
    """Return the names of a table that is written with white space between them."""
    return frozenset(text.split())


def words(text: str) -> tuple[str, ...]:
    """The words of a text, split at white space and quotes."""
    return tuple(re.findall(r"[^\s\"']+", text))


def escaped(path: str) -> str:
    """Return a path as systemd names its unit (systemd-escape --path)."""
    return path.strip("/").replace("-", r"\x2d").replace("/", "-")
