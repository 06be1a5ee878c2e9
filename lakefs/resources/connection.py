"""How the resources inside a lakeFS server reach it, and what they have in common."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import pulumi
from pulumi.dynamic import CheckFailure, ConfigureRequest, DiffResult, ResourceProvider
from pulumi.runtime import rpc

from lakefs.errors import ENDPOINT_FORM, LakefsError, is_endpoint

if TYPE_CHECKING:
    from lakefs.client import Lakefs

T = TypeVar("T")

KEYS = ("access_key_id", "secret_access_key")
MANAGED = {"managed-by": "gpu-fleet"}

# What a dynamic provider is handed: property names of ours, values of any JSON type.
Properties = Mapping[str, Any]


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


def options(opts: pulumi.ResourceOptions | None) -> pulumi.ResourceOptions:
    """The options of a resource with its keys marked secret in outputs too, as after a refresh."""
    return pulumi.ResourceOptions.merge(
        pulumi.ResourceOptions(additional_secret_outputs=list(KEYS)), opts
    )


class LakefsProvider(ResourceProvider):
    """What every provider of something inside a lakeFS server is."""

    serialize_as_secret_always = False  # it captures nothing; the keys are inputs

    def configure(self, req: ConfigureRequest) -> None:  # noqa: ARG002  # called by the host alone
        """Keeps the host of dynamic providers from printing a traceback where lakeFS said no.

        The host prints one for every error. A refusal says all there is to say in its sentence; a
        mistake of the program keeps its traceback.
        """
        for name in ("create", "read", "update", "delete"):
            setattr(self, name, _shortened(getattr(self, name)))


def _shortened(method: Callable[..., T]) -> Callable[..., T]:
    def call(*arguments: object) -> T:
        sys.tracebacklimit = 1000
        try:
            return method(*arguments)
        except LakefsError:
            sys.tracebacklimit = 0
            raise

    return call


def connect(properties: Properties) -> Lakefs:
    """A client for the properties of one resource."""
    from lakefs.client import Lakefs  # noqa: PLC0415  # loads the SDK: 0.6 s

    return Lakefs(
        properties["endpoint"], properties["access_key_id"], properties["secret_access_key"]
    )


def connected(properties: Properties) -> dict[str, Any]:
    """The part of a resource's state that says how to reach it again."""
    return {key: properties[key] for key in ("endpoint", *KEYS)}


def known(value: object) -> bool:
    """Whether a value is there at preview already."""
    return value is not None and value != rpc.UNKNOWN


def wrong_connection(properties: Properties, resource: str) -> list[CheckFailure]:
    """Empty keys, which would be a request without a user, and an endpoint that is none."""
    failures = [
        CheckFailure(key, f"{resource} needs a value for {key}, and it is empty.")
        for key in KEYS
        if not properties.get(key)
    ]
    endpoint = properties.get("endpoint") or ""
    if endpoint != rpc.UNKNOWN and not is_endpoint(endpoint):
        reason = f"{resource} has an endpoint that is wrong; it must be {ENDPOINT_FORM}."
        failures.append(CheckFailure("endpoint", reason))
    return failures


def diff(
    olds: Properties, news: Properties, *, updates: tuple[str, ...], replaces: tuple[str, ...] = ()
) -> DiffResult:
    """Compares what the server was last seen to hold with what is declared.

    A value that is unknown at preview counts as changed, but never as a reason to replace: the
    address of a bucket is unknown for one preview, the data in the repository is gone for good.
    """
    changed = [
        key for key in ("endpoint", *KEYS, *updates, *replaces) if olds.get(key) != news.get(key)
    ]
    reasons = [key for key in changed if key in replaces and known(news.get(key))]
    return DiffResult(
        changes=bool(changed),
        replaces=reasons,
        # the names of a server are unique: the old one must go before the new one can come
        delete_before_replace=bool(reasons),
    )
