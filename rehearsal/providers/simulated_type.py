"""The rules of one resource type in a simulated cloud: checks, replacements, outputs."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from rehearsal.providers import sdk_types
from rehearsal.providers.checks import InputCheck
from rehearsal.providers.cloud import Cloud
from rehearsal.providers.contract import Failure
from rehearsal.providers.naming import AutoName
from rehearsal.providers.unique import Unique
from rehearsal.providers.values import UNKNOWN, Properties, Value


@dataclass(frozen=True, kw_only=True)
class CloudRequest:
    """The inputs of one resource or function, and the cloud that gets them."""

    inputs: Properties = field(repr=False)
    cloud: Cloud
    config: Properties = field(repr=False)
    """Of the provider instance, such as its region."""
    id: str = ""
    """Empty before the object has one."""

    def text(self, key: str, default: str = "") -> str:
        """The input `key` as text."""
        value = self.inputs.get(key)
        return default if value is None else str(value)


CrossCheck: TypeAlias = Callable[[CloudRequest], Iterator[Failure]]
"""A check of several inputs together, or of inputs against the objects that the cloud has."""


def _nothing(_: CloudRequest) -> Properties:
    return {}


def _number(request: CloudRequest) -> str:
    return str(request.cloud.next_number())


@dataclass(frozen=True, kw_only=True)
class SimulatedType:
    """One resource type of a simulated cloud.

    `module` and `name` are the SDK's, such as `pulumi_aws.s3` and `Bucket`; the SDK's class says
    which inputs and outputs the type has.
    """

    module: str
    name: str
    # what is refused
    input_checks: tuple[InputCheck, ...] = ()
    cross_checks: tuple[CrossCheck, ...] = ()
    """They run at preview too, so they let unknown values pass."""
    creation_checks: tuple[CrossCheck, ...] = ()
    """They run when the object is created or changed, on what the cloud has at that moment."""
    unique: tuple[Unique, ...] = ()
    """What no two objects of the type may share."""
    # how it changes
    replace_on: tuple[str, ...] = ()
    auto_name: AutoName | None = None
    # what comes out
    defaults: Mapping[str, Value] = field(default_factory=dict)
    computed: frozenset[str] = frozenset()
    """Optional inputs that the cloud decides when the program does not."""
    nested: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The same inside the items of a list: property -> names."""
    identify: Callable[[CloudRequest], str] = _number
    known: Callable[[CloudRequest], Properties] = _nothing
    """Outputs that follow from known inputs alone, so that a preview shows them."""
    outputs: Callable[[CloudRequest], Properties] = _nothing

    @property
    def token(self) -> str:
        """The type token: `aws:s3/bucket:Bucket`."""
        package, _, module = self.module.removeprefix("pulumi_").partition(".")
        return f"{package}:{module or 'index'}/{self.name[0].lower()}{self.name[1:]}:{self.name}"

    @property
    def shape(self) -> sdk_types.Object:
        """The inputs that the SDK allows."""
        return sdk_types.inputs(self.module, self.name)

    def unknown_outputs(self) -> frozenset[str]:
        """The outputs that a preview does not know: those that are no inputs, and computed ones."""
        outputs = sdk_types.output_names(self.module, self.name)
        return (outputs - set(self.shape.fields)) | self.computed

    def previewed(self, request: CloudRequest) -> Properties:
        """The outputs of an object that a preview would create."""
        inputs = self._with_nested(public(request.inputs))
        unknown = {name: UNKNOWN for name in self.unknown_outputs() if inputs.get(name) is None}
        return {**self.defaults, **unknown, **inputs, **self.known(request)}

    def made(self, request: CloudRequest) -> Properties:
        """The outputs of an object that has its id."""
        given = {**self.defaults, **public(request.inputs), **self.known(request)}
        return {**given, **self.outputs(request)}

    def _with_nested(self, inputs: Properties) -> Properties:
        filled = dict(inputs)
        for name, unknown in self.nested.items():
            items = inputs.get(name)
            if isinstance(items, list):
                filled[name] = [_fill(item, unknown) for item in items]
        return filled


def _fill(item: Value, unknown: frozenset[str]) -> Value:
    if not isinstance(item, dict):
        return item
    return {**dict.fromkeys(sorted(unknown), UNKNOWN), **item}


def public(inputs: Properties) -> Properties:
    """The inputs without null values and without Pulumi's internal keys."""
    return {
        key: value
        for key, value in inputs.items()
        if not key.startswith("__") and value is not None
    }
