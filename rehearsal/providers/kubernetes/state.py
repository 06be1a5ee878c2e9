"""The state that Pulumi keeps of a Kubernetes object, with its secret parts marked."""

import base64
import binascii
import secrets

from policies.language.manifest import quantity
from rehearsal.providers.kubernetes.objects import metadata, renamed
from rehearsal.providers.secrets import conceal_properties
from rehearsal.providers.values import Properties, Secret, Value, plain

FIELD_MANAGER = "__fieldManager"
MANAGERS = "pulumi-kubernetes-"
"""How the field managers begin that apply objects."""
SECRET_FIELDS = ("data", "stringData")
SERVER_SET = frozenset(
    ("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid")
)


def new_manager() -> str:
    """A field manager that no other object has."""
    return f"{MANAGERS}{secrets.token_hex(4)}"


def manager_of(outputs: Properties) -> str:
    """The field manager of an object; a new one where the state lacks it.

    The real provider never looks at the object for it (`fieldManagerName` in
    provider/pkg/provider/provider.go of pulumi-kubernetes).
    """
    manager = outputs.get(FIELD_MANAGER)
    return manager if isinstance(manager, str) else new_manager()


def outputs(live: Properties, inputs: Properties, manager: str) -> Properties:
    """The live object as outputs; a value is secret where the input at its place is."""
    shown = {key: renamed(value, "x-kubernetes-", "-", "_") for key, value in live.items()}
    shown["metadata"] = {
        key: value for key, value in metadata(live).items() if key != "managedFields"
    }
    concealed = conceal_properties(shown, inputs)
    return {**with_secret_fields(concealed), FIELD_MANAGER: manager}


def pruned(live: Value, inputs: Value) -> Value:
    """The live values of those fields that `inputs` has; others are left out.

    Where the server only writes a quantity in another way, the input stays.
    """
    match live, inputs:
        case dict(), dict():
            return {key: pruned(live.get(key), value) for key, value in inputs.items()}
        case list(), list() if len(live) == len(inputs):
            return [pruned(item, wanted) for item, wanted in zip(live, inputs, strict=True)]
        case _:
            return inputs if same_quantity(live, inputs) else live


def same_quantity(first: Value, second: Value) -> bool:
    """Whether both are the same amount, as "1000m", "1" and 1 are."""
    amount = quantity(first)
    return amount is not None and amount == quantity(second)


def read_inputs(live: Properties, inputs: Properties) -> Properties:
    """The inputs that a refresh finds: the old ones, with the values of the live object.

    An import has no old inputs; it gets everything that a program could have written.
    """
    if not inputs:
        return _importable(live)
    before = {key: plain(value) for key, value in inputs.items()}
    found = pruned({**live, "stringData": _decoded(live.get("data"))}, before)
    values = found if isinstance(found, dict) else {}
    return conceal_properties(
        {key: item for key, item in values.items() if item is not None}, inputs
    )


def with_secret_fields(value: Properties) -> Properties:
    """The object; where it is a Secret, its contents are marked secret."""
    if plain(value.get("kind")) != "Secret" or plain(value.get("apiVersion")) != "v1":
        return value
    marked = dict(value)
    for name in SECRET_FIELDS:
        contents = value.get(name)
        if contents is not None and not isinstance(contents, Secret):
            marked[name] = Secret(contents)
    return marked


def _importable(live: Properties) -> Properties:
    known = {key: value for key, value in metadata(live).items() if key not in SERVER_SET}
    rest = {key: value for key, value in live.items() if key != "status"}
    return with_secret_fields({**rest, "metadata": known})


def _decoded(data: Value) -> Value:
    """The `data` of a live Secret as `stringData`, which the server never returns."""
    try:
        return {
            key: base64.b64decode(str(text)).decode()
            for key, text in (data.items() if isinstance(data, dict) else ())
        }
    except (binascii.Error, UnicodeDecodeError):
        return None
