"""What several of Ignition's rules share: paths, URLs and unit text, each problem in words."""

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ignition.butane import resources, units
from ignition.butane.problems import Path

Value = Mapping[str, Any]  # JSON by the schema: the walk has checked types and keys
Problems = Iterator[tuple[Path, str]]


@dataclass(frozen=True)
class Context:
    """What differs between the versions: S3 ARNs as sources."""

    arn: bool


def path_problem(path: str) -> str | None:
    """Why Ignition refuses a path, None where it takes it."""
    if not path:
        return "a path is required"
    if not path.startswith("/"):
        return f'"{path}" is not absolute'
    if "/" + posixpath.normpath(path).lstrip("/") != path:
        return f'"{path}" is not in its shortest form'
    return None


def extension(name: str) -> str:
    """The ending of a file name, dot included, as Go's path.Ext has it."""
    base = name.rsplit("/", 1)[-1]
    return base[base.rfind(".") :] if "." in base else ""


def url_problem(url: str, context: Context) -> str | None:
    """Why Ignition refuses a source, None where it takes it."""
    try:
        resources.check(url, arn=context.arn)
    except resources.UrlError as error:
        return f'"{url[:60]}" is no source that Ignition takes: {error}'
    return None


@lru_cache(maxsize=256)
def unit_text(text: str) -> tuple[tuple[tuple[str, str], ...], str | None]:
    """The (section, option) pairs of a unit, or why it is none; nodes have many units in common."""
    try:
        return tuple(units.parse(text)), None
    except units.UnitError as error:
        return (), f"is no unit: {error}"
