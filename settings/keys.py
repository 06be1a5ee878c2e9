"""The keys of a stack file, read from the types of its sections: the one source of what each means.

A key's meaning is the docstring of its field, what it allows the field's type, and its example the
value in settings/example.yaml.
"""

import ast
import dataclasses
import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic.fields import FieldInfo

from settings.pools import PoolSettings
from settings.problems import allowed
from settings.reboots import Reboots
from settings.rehearsal import RehearsalSettings
from settings.stackfile import read
from settings.types import (
    AdmissionStage,
    Allow,
    Budget,
    Cluster,
    LakefsSettings,
    MonitoringSettings,
    Site,
    Team,
    Versions,
)

SECTIONS: Mapping[str, object] = {
    "cluster": Cluster,
    "sites": Mapping[str, Site],
    "pools": Mapping[str, PoolSettings],
    "teams": Mapping[str, Team],
    "versions": Versions,
    "budget": Budget,
    "lakefs": LakefsSettings,
    "monitoring": MonitoringSettings,
    "reboots": Reboots,
    "admission": AdmissionStage,
    "allow": Allow,
    "rehearsal": RehearsalSettings,
}
"""The type of each section but `policies`, whose keys the rules bring."""
REQUIRED = ("cluster", "sites", "pools", "budget")
UNITS = {
    "_minutes": "minutes",
    "_hours": "hours",
    "_days": "days",
    "_mib_per_s": "MiB/s",
    "usd_per_day": "USD/day",
    "minSizeGigabytes": "GB",
    "gpus": "GPUs",
    "gpu_limits": "GPUs",
    "nodes": "servers",
    "_cores_per_numa_node": "cores",
    "hugepages_1gi_per_numa_node": "pages of 1 GiB",
    "hugepages_2mi_per_numa_node": "pages of 2 MiB",
}


@dataclass(frozen=True, kw_only=True)
class Key:
    """A key of a stack file.

    `path` has `<name>` for a name of your own and `[]` for an entry of a list. `of` is the kind of
    the site or pool that has the key, None for all.
    """

    path: str
    of: str | None
    form: object
    allowed: str
    meaning: str
    default: object
    required: bool
    example: object

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.removesuffix("[]").rpartition(".")[2]

    @property
    def is_mapping(self) -> bool:
        """Whether its value has keys of its own."""
        form = bare(self.form)
        if get_origin(form) in (tuple, Mapping):
            form = bare(get_args(form)[-1 if get_origin(form) is Mapping else 0])
        return dataclasses.is_dataclass(form)

    @property
    def unit(self) -> str:
        """The unit of its number; empty for text and for what has none."""
        return next((unit for end, unit in UNITS.items() if self.name.endswith(end)), "")

    @property
    def type_name(self) -> str:
        """What kind of value it has: text, number, mapping and so on."""
        return type_name(self.form)


def keys() -> tuple[Key, ...]:
    """Return every key of a stack file but those of rules, in the order of the file."""
    return tuple(key for section, form in SECTIONS.items() for key in _of_section(section, form))


def _of_section(section: str, form: object) -> Iterator[Key]:
    if get_origin(form) is Mapping:
        entry = get_args(form)[1]
        for member in members(entry):
            kind = kind_of(member) if len(members(entry)) > 1 else None
            yield from _below(f"{section}.<name>", member, of=kind, others=members(entry))
    elif dataclasses.is_dataclass(form):
        yield from _below(section, form, of=None)
    else:
        yield Key(
            path=section,
            of=None,
            form=form,
            allowed=allowed(form),
            meaning="Whether the API server warns of an object that breaks a rule, or refuses it.",
            default="audit",
            required=False,
            example="deny",
        )


def _below(
    path: str, kind: object, *, of: str | None, others: Sequence[object] = ()
) -> Iterator[Key]:
    """Yield the keys of a dataclass, each followed by those of its own value."""
    hints = get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]  # a dataclass, by its caller
        form = hints[field.name]
        place = f"{path}.{field.name}"
        default = _default(field)
        yield Key(
            path=place,
            of=of,
            form=form,
            allowed=allowed(form),
            meaning=meaning(kind, field.name, others),
            default=None if default is MISSING else default,
            required=default is MISSING,
            example=_example(place, of, form),
        )
        yield from _inside(place, bare(form), of)


def _inside(place: str, form: object, of: str | None) -> Iterator[Key]:
    """Yield the keys within a value: a mapping's, or those of a list's or a mapping's entries."""
    if isinstance(form, type) and dataclasses.is_dataclass(form):
        yield from _below(place, form, of=of)
    elif get_origin(form) is tuple:
        yield from _inside(f"{place}[]", bare(get_args(form)[0]), of)
    elif get_origin(form) is Mapping:
        yield from _inside(f"{place}.<name>", bare(get_args(form)[1]), of)


def members(form: object) -> tuple[object, ...]:
    """Return the types of a union; the type itself where it is none."""
    return get_args(form) if get_origin(form) in (Union, UnionType) else (form,)


def bare(form: object) -> object:
    """Return a type without its annotations and without `| None`."""
    while get_origin(form) in (Annotated, Union, UnionType):
        form = get_args(form)[0]
    return form


def type_name(form: object) -> str:
    """Return the kind of a type's values in a word."""
    plain = bare(form)
    origin = get_origin(plain)
    if origin is Literal:
        return "choice"
    if origin is tuple:
        return f"list of {type_name(get_args(plain)[0])}s"
    names: dict[object, str] = {
        int: "whole number",
        float: "number",
        bool: "true or false",
        str: "text",
    }
    return names.get(plain, "mapping")


def meaning(kind: object, field: str, others: Sequence[object] = ()) -> str:
    """Return the docstring of a field; of a field that types share, the first has it."""
    found = (_docstrings(each).get(field) for each in (kind, *others))
    text = next((each for each in found if each), "")
    return " ".join(text.split())


@cache
def _docstrings(kind: Any) -> dict[str, str]:
    """Return the docstrings of the fields of a class, which Python itself throws away."""
    module = ast.parse(inspect.getsource(sys.modules[kind.__module__]))
    body = next(
        each.body
        for each in module.body
        if isinstance(each, ast.ClassDef) and each.name == kind.__name__
    )
    found = {}
    for field, after in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            text = after.value if isinstance(after, ast.Expr) else None
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                found[field.target.id] = text.value
    return found


def kind_of(member: object) -> str:
    return str(get_args(get_type_hints(member)["kind"])[0])


def _default(field: Any) -> object:
    """Return the default of a field; MISSING where the key is required."""
    default = field.default
    if isinstance(default, FieldInfo):  # of pydantic, with a factory
        default = {} if default.default_factory is not None else default.default
    if default is MISSING and field.default_factory is not MISSING:
        default = {}
    return list(default) if isinstance(default, tuple) else default


def _example(path: str, of: str | None, form: object) -> object:
    """Return a value of a key: the one in settings/example.yaml, or else its form's own."""
    for kind in (of, None):
        for value in _walk(_examples(), path.split("."), kind):
            return value
    for info in _infos(form):
        if info.examples:
            return info.examples[0]
    choices = get_args(bare(form))
    return choices[0] if get_origin(bare(form)) is Literal else None


def _walk(value: Any, parts: Sequence[str], of: str | None) -> Iterator[object]:
    """Yield the values at a path of keys; any name fits `<name>`, any entry `[]`."""
    if not parts:
        yield value
        return
    key, *rest = parts
    if key == "<name>":
        for entry in value.values():
            if of is None or entry.get("kind", of) == of:
                yield from _walk(entry, rest, None)
    elif isinstance(value, Mapping) and key.removesuffix("[]") in value:
        found = value[key.removesuffix("[]")]
        for entry in found if key.endswith("[]") else [found]:
            yield from _walk(entry, rest, of)


@cache
def _examples() -> dict[str, Any]:
    config, _positions = read(Path(__file__).with_name("example.yaml"))
    return {key.partition(":")[2]: value for key, value in config["config"].items()}


def _infos(form: object) -> Iterator[FieldInfo]:
    while get_origin(form) in (Annotated, Union, UnionType):
        arguments = get_args(form)
        yield from (extra for extra in arguments[1:] if isinstance(extra, FieldInfo))
        form = arguments[0]
