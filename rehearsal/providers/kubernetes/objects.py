"""Kubernetes objects as Pulumi writes them: kind, name and namespace, and the body to send."""

from collections.abc import Iterator

from rehearsal.providers.contract import Failure, Naming, Resource
from rehearsal.providers.naming import automatic_name
from rehearsal.providers.values import Properties, Secret, Unknown, Value, plain

AUTONAMED = "pulumi.com/autonamed"


def group_version_kind(type_: str, inputs: Properties) -> tuple[str, str]:
    """apiVersion and kind, of the object or else of a token such as `kubernetes:core/v1:Pod`."""
    _, group_version, kind = type_.split(":")
    api_version = inputs.get("apiVersion") or group_version.removeprefix("core/")
    return str(plain(api_version)), str(plain(inputs.get("kind")) or kind)


def metadata(value: Properties) -> Properties:
    """The metadata of an object; empty where there is none or it is unknown."""
    found = plain(value.get("metadata"))
    return found if isinstance(found, dict) else {}


def name_of(value: Properties) -> str:
    """The name of an object."""
    return str(metadata(value).get("name"))


def namespace_of(value: Properties) -> str | None:
    """The namespace that an object names, if any."""
    namespace = metadata(value).get("namespace")
    return namespace if isinstance(namespace, str) and namespace else None


def identity(value: Properties) -> str:
    """The Pulumi id of an object: `namespace/name`, or the name alone."""
    namespace = namespace_of(value)
    return f"{namespace}/{name_of(value)}" if namespace else name_of(value)


def split_identity(id_: str) -> tuple[str | None, str]:
    """Namespace and name of a Pulumi id."""
    namespace, _, name = id_.rpartition("/")
    return namespace or None, name


def named(resource: Resource, old: Properties, new: Properties, naming: Naming) -> Properties:
    """The inputs with a name: the given one, the one made before, or a new one."""
    if isinstance(new.get("metadata"), Unknown | Secret) or metadata(new).get("name") is not None:
        return new
    before = metadata(old)
    annotations = before.get("annotations")
    automatic = isinstance(annotations, dict) and annotations.get(AUTONAMED) == "true"
    name = before.get("name") if automatic else None
    made = name or automatic_name(resource, naming, digits=8, path="metadata.name")
    return _with_metadata(new, {"name": made}, annotation={AUTONAMED: "true"})


def in_namespace(inputs: Properties, namespace: str) -> Properties:
    """The inputs with `namespace`, unless they have one or it is unknown."""
    if isinstance(inputs.get("metadata"), Unknown | Secret) or metadata(inputs).get("namespace"):
        return inputs
    return _with_metadata(inputs, {"namespace": namespace})


def with_namespace(value: Properties, namespace: str | None) -> Properties:
    """The object with `namespace` as its namespace; with none where that is None."""
    known = value.get("metadata")
    held = dict(known) if isinstance(known, dict) else {}
    held.pop("namespace", None)
    return {**value, "metadata": {**held, **({"namespace": namespace} if namespace else {})}}


def failures(inputs: Properties) -> Iterator[Failure]:
    """Finds the mistakes that need no API server."""
    known = inputs.get("metadata")
    if not isinstance(known, dict | Unknown | Secret | None):
        yield Failure(path="metadata", sentence="metadata must be an object with a name.")
    if metadata(inputs).get("generateName"):
        yield Failure(
            path="metadata.generateName",
            sentence="metadata.generateName is given, but server-side apply needs a name: "
            "leave both out, and Pulumi makes one.",
        )


def body(inputs: Properties, namespace: str | None) -> Properties:
    """The object as it is sent to the API server."""
    sent = {
        key: renamed(plain(value), "x_kubernetes_", "_", "-")
        for key, value in inputs.items()
        if not key.startswith("__")
    }
    known = metadata(inputs)
    known.pop("namespace", None)
    return {**sent, "metadata": {**known, **({"namespace": namespace} if namespace else {})}}


def _with_metadata(
    inputs: Properties, more: Properties, annotation: Properties | None = None
) -> Properties:
    known = inputs.get("metadata")
    held = dict(known) if isinstance(known, dict) else {}
    if annotation:
        annotations = held.get("annotations")
        held["annotations"] = {
            **(annotations if isinstance(annotations, dict) else {}),
            **annotation,
        }
    return {**inputs, "metadata": {**held, **more}}


def renamed(value: Value, prefix: str, old: str, new: str) -> Value:
    """The value with `old` replaced in keys that begin with `prefix`.

    The SDK writes `x_kubernetes_*` where the schema of a CRD has `x-kubernetes-*`.
    """
    match value:
        case dict():
            return {
                key.replace(old, new) if key.startswith(prefix) else key: renamed(
                    item, prefix, old, new
                )
                for key, item in value.items()
            }
        case list():
            return [renamed(item, prefix, old, new) for item in value]
        case _:
            return value
