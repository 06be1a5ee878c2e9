"""What a simulated cloud knows about one type of resource."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from rehearsal.providers import sdk_types
from rehearsal.providers.contract import Failure
from rehearsal.providers.values import UNKNOWN, Properties, Value

if TYPE_CHECKING:
    from rehearsal.providers.checks import Rule
    from rehearsal.providers.cloud import Cloud
    from rehearsal.providers.naming import AutoName


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Inputs as they reach the cloud, and the cloud that they reach."""

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


Judge: TypeAlias = Callable[[Asked], Iterator[Failure]]


def _nothing(_: Asked) -> Properties:
    return {}


def _number(asked: Asked) -> str:
    return str(asked.cloud.next_number())


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A resource type: what it refuses, what replaces it, and what comes out.

    `module` and `name` are the SDK's, such as `pulumi_aws.s3` and `Bucket`: its types say which
    inputs there are.
    """

    module: str
    name: str
    # what is refused
    rules: tuple[Rule, ...] = ()
    judges: tuple[Judge, ...] = ()
    """Checks that need more than one value; they must let pass what is not known yet."""
    admission: tuple[Judge, ...] = ()
    """Checks that only the moment of creation or change can make."""
    unique: tuple[str, ...] = ()
    """Inputs whose value no two objects of the type may share."""
    # how it changes
    replace_on: tuple[str, ...] = ()
    auto_name: AutoName | None = None
    # what comes out
    defaults: Mapping[str, Value] = field(default_factory=dict)
    computed: frozenset[str] = frozenset()
    """Optional inputs that the cloud decides when the program does not."""
    nested: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The same inside the items of a list: property -> names."""
    identify: Callable[[Asked], str] = _number
    known: Callable[[Asked], Properties] = _nothing
    """Outputs that follow from known inputs alone, so that a preview shows them."""
    outputs: Callable[[Asked], Properties] = _nothing

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
        """What only the cloud knows: outputs that are no inputs, and inputs that it may decide."""
        outputs = sdk_types.output_names(self.module, self.name)
        return (outputs - set(self.shape.fields)) | self.computed

    def previewed(self, asked: Asked) -> Properties:
        """The outputs of an object that is not there yet."""
        inputs = self._with_nested(public(asked.inputs))
        unknown = {name: UNKNOWN for name in self.unknown_outputs() if inputs.get(name) is None}
        return {**self.defaults, **unknown, **inputs, **self.known(asked)}

    def made(self, asked: Asked) -> Properties:
        """The outputs of an object that has its id."""
        given = {**self.defaults, **public(asked.inputs), **self.known(asked)}
        return {**given, **self.outputs(asked)}

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
    """The inputs without what the engine does not show: absent ones and internal ones."""
    return {
        key: value
        for key, value in inputs.items()
        if not key.startswith("__") and value is not None
    }
