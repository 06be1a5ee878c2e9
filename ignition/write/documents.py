"""Helpers that all roles share on the way from a template to Ignition."""

import json
from functools import cache
from pathlib import Path

import jinja2

from ignition.butane import transpile
from ignition.write.payload import Merge, data_url, merged

_TEMPLATES = Path(__file__).resolve().parent / "templates"
VERSION = "3.4.0"


class RenderError(ValueError):
    """Something that cannot be written into boot data; one sentence with the value seen."""


def butane(role: str, values: dict[str, object]) -> str:
    """The Butane source of a role."""
    return _environment().get_template(f"{role}.bu.j2").render(values)


def ignition(source: str, snippets: tuple[str, ...]) -> str:
    """Butane, and further Butane documents that are merged last, as Ignition."""
    merges = (Merge(source=data_url(to_json(transpile(snippet)))) for snippet in snippets)
    config = to_json(transpile(source))
    return merged(config, tuple(merges)) if snippets else config


def secret_ignition(files: list[dict[str, object]]) -> str:
    """A configuration of files alone, for the secret part."""
    return to_json({"ignition": {"version": VERSION}, "storage": {"files": files}})


def file(path: str, text: str, *, mode: int) -> dict[str, object]:
    """A file as Ignition has it."""
    return {"path": path, "contents": {"source": data_url(text)}, "mode": mode}


def hostname_file(hostname: str) -> dict[str, object]:
    """The machine's own name, over the one that its image or cloud gave it."""
    return {**file("/etc/hostname", f"{hostname}\n", mode=0o644), "overwrite": True}


def to_json(value: object) -> str:
    """JSON without spaces, keys in the order in which they stand."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,  # templates do not change while the program runs
        autoescape=False,  # noqa: S701  # the output is YAML, never HTML
    )
