"""How the resources inside a lakeFS server reach it, and the frame that their providers share."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

import pulumi
from pulumi.dynamic import (
    CheckFailure,
    CheckResult,
    ConfigureRequest,
    CreateResult,
    DiffResult,
    ReadResult,
    ResourceProvider,
    UpdateResult,
)
from pulumi.runtime import rpc

from lakefs.client import LakefsClient
from lakefs.errors import ENDPOINT_FORM, LakefsError, is_endpoint

T = TypeVar("T")

KEYS = ("access_key_id", "secret_access_key")
CONNECTION = ("endpoint", *KEYS)
PROVIDER_KEY = "__provider"  # where Pulumi keeps which class serves a dynamic resource
MANAGED = {"managed-by": "gpu-fleet"}
"""The metadata of the program's own commits."""

Properties = Mapping[str, Any]
"""The properties of one resource as a dynamic provider gets them: values of any JSON type."""


@dataclass(frozen=True, kw_only=True)
class Connection:
    """The server and the pair of keys to it. The keys are made secrets whatever they come as."""

    endpoint: pulumi.Input[str]
    access_key_id: pulumi.Input[str] = field(repr=False)
    secret_access_key: pulumi.Input[str] = field(repr=False)

    def properties(self) -> dict[str, pulumi.Input[str]]:
        return {
            "endpoint": self.endpoint,
            "access_key_id": pulumi.Output.secret(self.access_key_id),
            "secret_access_key": pulumi.Output.secret(self.secret_access_key),
        }


@dataclass(frozen=True, kw_only=True)
class ResourceArgs:
    """The args of a resource in a lakeFS server; the fields beside `connection` are properties."""

    connection: Connection

    def properties(self) -> dict[str, pulumi.Input[Any]]:
        """Returns the properties that the resource is registered with."""
        own = [each.name for each in fields(self) if each.name != "connection"]
        return {**self.connection.properties(), **{name: getattr(self, name) for name in own}}


def options(opts: pulumi.ResourceOptions | None) -> pulumi.ResourceOptions:
    """Marks the keys secret in the outputs of a resource too, as after a refresh."""
    return pulumi.ResourceOptions.merge(
        pulumi.ResourceOptions(additional_secret_outputs=list(KEYS)), opts
    )


class LakefsProvider(ResourceProvider):
    """The frame of every provider of something inside a lakeFS server.

    A provider names its properties and says how to make, find, change and remove what they
    describe. `make`, `find` and `change` return what the server holds, as properties.
    """

    serialize_as_secret_always = False  # it captures nothing; the keys are inputs

    updates: tuple[str, ...] = ()
    """The properties that the server holds and that change in place."""
    flags: tuple[str, ...] = ("adopt",)
    """The properties that steer the program alone; they are kept in the state."""
    replaces: tuple[str, ...] = ()
    """The properties of which another value makes another resource."""

    def title(self, props: Properties) -> str:
        """Returns the resource as the first words of a sentence."""
        raise NotImplementedError

    def mistakes(self, _olds: Properties, _news: dict[str, Any]) -> list[CheckFailure]:
        """Returns what is wrong with the declared properties; may bring them into normal form."""
        return []

    def id_of(self, props: Properties) -> str:
        return str(props["repository"])

    def make(self, lakefs: LakefsClient, props: Properties) -> Properties:
        raise NotImplementedError

    def find(self, lakefs: LakefsClient, id_: str, props: Properties) -> Properties | None:
        """Returns None where there is nothing; `props` may be as few as an import has."""
        raise NotImplementedError

    def change(self, lakefs: LakefsClient, id_: str, props: Properties) -> Properties:
        raise NotImplementedError

    def remove(self, lakefs: LakefsClient, id_: str, props: Properties) -> None:
        """Removes nothing where a provider does not say how."""

    def configure(self, req: ConfigureRequest) -> None:  # noqa: ARG002  # called by the host alone
        """Keeps the host of dynamic providers from printing a traceback where lakeFS refused.

        The host prints one for every error. The sentence of a refusal says it all; a mistake of
        the program keeps its traceback.
        """
        for name in ("create", "read", "update", "delete"):
            setattr(self, name, _without_traceback(getattr(self, name)))

    def check(self, olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        failures = _wrong_connection(news, self.title(news)) + self.mistakes(olds, news)
        return CheckResult(news, failures)

    def diff(self, _id: str, olds: dict[str, Any], news: dict[str, Any]) -> DiffResult:
        """Compares what the server was last seen to hold with what is declared.

        A value that is unknown at preview counts as changed, but never as a reason to replace: the
        address of a bucket is unknown for one preview, the data in the repository is lost for good.
        The provider itself counts too: what refreshes or deletes a resource is the one that its
        outputs name, and only an update writes today's there.
        """
        keys = (*CONNECTION, *self.updates, *self.flags, *self.replaces, PROVIDER_KEY)
        changed = [key for key in keys if olds.get(key) != news.get(key)]
        reasons = [key for key in changed if key in self.replaces and known(news.get(key))]
        return DiffResult(
            changes=bool(changed),
            replaces=reasons,
            # the names of a server are unique: the old one must go before the new one can come
            delete_before_replace=bool(reasons),
        )

    def create(self, props: dict[str, Any]) -> CreateResult:
        held = self.make(_client(props), props)
        return CreateResult(self.id_of(props), self._state(props, held))

    def read(self, id_: str, props: dict[str, Any]) -> ReadResult:
        held = self.find(_client(props), id_, props)
        return ReadResult("", {}) if held is None else ReadResult(id_, self._state(props, held))

    def update(self, id_: str, _olds: dict[str, Any], news: dict[str, Any]) -> UpdateResult:
        return UpdateResult(self._state(news, self.change(_client(news), id_, news)))

    def delete(self, id_: str, props: dict[str, Any]) -> None:
        self.remove(_client(props), id_, props)

    def _state(self, props: Properties, held: Properties) -> dict[str, Any]:
        """How to reach the resource again, what the server holds, and the flags."""
        return {
            **{key: props[key] for key in CONNECTION},
            **{key: held[key] for key in (*self.updates, *self.replaces)},
            **{key: bool(props.get(key)) for key in self.flags},
        }


def _without_traceback(method: Callable[..., T]) -> Callable[..., T]:
    def call(*arguments: object) -> T:
        sys.tracebacklimit = 1000
        try:
            return method(*arguments)
        except LakefsError:
            sys.tracebacklimit = 0
            raise

    return call


def _client(props: Properties) -> LakefsClient:
    return LakefsClient(*(props[key] for key in CONNECTION))


def known(value: object) -> bool:
    """True for a value that is there at preview already."""
    return value is not None and value != rpc.UNKNOWN


def _wrong_connection(props: Properties, title: str) -> list[CheckFailure]:
    """Empty keys, which would be a request without a user, and an endpoint of another form."""
    failures = [
        CheckFailure(key, f"{title} needs a value for {key}, and it is empty.")
        for key in KEYS
        if not props.get(key)
    ]
    endpoint = props.get("endpoint") or ""
    if endpoint != rpc.UNKNOWN and not is_endpoint(endpoint):
        reason = f"{title} has an endpoint that is wrong; it must be {ENDPOINT_FORM}."
        failures.append(CheckFailure("endpoint", reason))
    return failures
