"""Reads the inputs and outputs of a resource type from the Python SDK that the program uses."""

import collections.abc
import enum
import functools
import importlib
import inspect
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import pulumi

# pulumi has no public way to list the properties of an input type.
from pulumi import _types

Word: TypeAlias = Literal["a string", "a whole number", "a number", "true or false", "a file"]


@dataclass(frozen=True)
class Anything:
    """Any value."""


@dataclass(frozen=True)
class Simple:
    """A value without parts; `word` is its name in a sentence."""

    word: Word


@dataclass(frozen=True)
class OneOf:
    """A closed set of values."""

    values: tuple[str, ...]


@dataclass(frozen=True)
class ListOf:
    """A list of values of one shape."""

    item: "Shape"


@dataclass(frozen=True)
class MapOf:
    """An object with keys of the program's choice."""

    value: "Shape"


@dataclass(frozen=True)
class Object:
    """An object with known properties; `name` is the SDK's class without `Args`."""

    name: str
    fields: Mapping[str, "Shape"]
    required: frozenset[str]


Shape: TypeAlias = Anything | Simple | OneOf | ListOf | MapOf | Object

_WORDS: dict[object, Word] = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}


@functools.cache
def inputs(module: str, name: str) -> Object:
    """The inputs of resource class `name` of the SDK module, such as `pulumi_aws.s3`, `Bucket`."""
    own = importlib.import_module(_resource(module, name).__module__)
    # Where a nested type has the name already, the SDK calls the resource's inputs `InitArgs`.
    return _object(getattr(own, f"{name}InitArgs", None) or getattr(own, f"{name}Args"))


@functools.cache
def output_names(module: str, name: str) -> frozenset[str]:
    """Every property of a resource of that class, inputs included."""
    return frozenset(_types.resource_types(_resource(module, name)))


def token(module: str, name: str) -> str:
    """The type token of the class, such as `aws:s3/bucket:Bucket`."""
    return str(getattr(_resource(module, name), "pulumi_type"))  # noqa: B009  # set by a decorator


def _resource(module: str, name: str) -> type[pulumi.CustomResource]:
    resource: type[pulumi.CustomResource] = getattr(importlib.import_module(module), name)
    return resource


@functools.cache
def _object(arguments: type) -> Object:
    names = _types.input_type_py_to_pulumi_names(arguments)
    parameters = inspect.signature(arguments.__init__).parameters  # type: ignore[misc]  # a class
    return Object(
        arguments.__name__.removesuffix("Args").removesuffix("Init"),
        {key: _shape(hint) for key, hint in _types.input_type_types(arguments).items()},
        frozenset(
            names[key]
            for key, parameter in parameters.items()
            if key in names and parameter.default is inspect.Parameter.empty
        ),
    )


def _shape(hint: object) -> Shape:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in {typing.Union, types.UnionType}:
        return _shape_of_union(arguments)
    if origin is Literal:
        return OneOf(tuple(str(value) for value in arguments))
    if origin in {collections.abc.Sequence, list}:
        return ListOf(_shape(arguments[0]))
    if origin in {collections.abc.Mapping, dict}:
        return MapOf(_shape(arguments[1]))
    return _shape_of_class(hint)


def _shape_of_union(members: tuple[object, ...]) -> Shape:
    """The shape of an input, without the awaitables and outputs that it may be given as."""
    shapes = [
        _shape(member)
        for member in members
        if typing.get_origin(member) not in {collections.abc.Awaitable, pulumi.Output}
        and member is not type(None)
    ]
    # A union with `str` says that the other forms are a convenience of the SDK.
    return next((shape for shape in shapes if shape == Simple("a string")), shapes[0])


def _shape_of_class(hint: object) -> Shape:
    if word := _WORDS.get(hint):
        return Simple(word)
    if isinstance(hint, type):
        if _types.is_input_type(hint):
            return _object(hint)
        if issubclass(hint, enum.Enum):
            return OneOf(tuple(str(member.value) for member in hint))
        if issubclass(hint, pulumi.Asset | pulumi.Archive):
            return Simple("a file")
    return Anything()
