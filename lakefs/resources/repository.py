"""A lakeFS repository as a resource of the program."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pulumi
from pulumi.dynamic import (
    CheckFailure,
    CheckResult,
    CreateResult,
    DiffResult,
    ReadResult,
    Resource,
    UpdateResult,
)

from lakefs.errors import LakefsError, if_there
from lakefs.resources.connection import (
    Connection,
    LakefsProvider,
    Properties,
    connect,
    connected,
    diff,
    known,
    options,
    wrong_connection,
)
from lakefs.resources.holdings import refuse_loss

if TYPE_CHECKING:
    from lakefs_sdk.models.repository import Repository as Found

    from lakefs.client import Lakefs

REPLACING = ("name", "storage_namespace", "default_branch", "read_only")


@dataclass(frozen=True, kw_only=True)
class RepositoryArgs:
    """`adopt` takes over a repository that exists already; `delete_with_data` lets one be deleted
    that holds anything. `storage_namespace` is "s3://bucket/prefix", never used before.
    """

    connection: Connection
    name: pulumi.Input[str]
    storage_namespace: pulumi.Input[str]
    default_branch: pulumi.Input[str] = "main"
    read_only: pulumi.Input[bool] = False
    adopt: pulumi.Input[bool] = False
    delete_with_data: pulumi.Input[bool] = False


class RepositoryProvider(LakefsProvider):
    """Creates, reads and deletes a repository. lakeFS cannot change one: that is a replacement."""

    def check(self, olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        failures = wrong_connection(news, f"lakeFS repository {news['name']!r}")
        failures += _wrong_names(news) + _refused_replacement(olds, news)
        return CheckResult(news, failures)

    def diff(self, _id: str, olds: dict[str, Any], news: dict[str, Any]) -> DiffResult:
        return diff(olds, news, updates=("adopt", "delete_with_data"), replaces=REPLACING)

    def create(self, props: dict[str, Any]) -> CreateResult:
        lakefs, name = connect(props), props["name"]
        try:
            found = lakefs.ask(
                f"create repository {name!r}",
                lakefs.api.repositories_api.create_repository,
                {key: props[key] for key in REPLACING},
            )
        except LakefsError as error:
            present = _get(lakefs, name) if error.status == 409 else None
            if present is None:
                raise
            found = _adopted(lakefs, props, present)
        return CreateResult(name, _state(props, found))

    def read(self, id_: str, props: dict[str, Any]) -> ReadResult:
        found = _get(connect(props), id_)
        if found is None:
            return ReadResult("", {})
        return ReadResult(id_, _state(props, found))

    def update(self, id_: str, _olds: dict[str, Any], news: dict[str, Any]) -> UpdateResult:
        # nothing in lakeFS changes: this proves the new keys and keeps the new flags
        found = _get(connect(news), id_)
        if found is None:
            raise LakefsError(
                f"lakeFS repository {id_!r} is gone from {news['endpoint']}: run `pulumi refresh`."
            )
        return UpdateResult(_state(news, found))

    def delete(self, id_: str, props: dict[str, Any]) -> None:
        lakefs = connect(props)
        found = _get(lakefs, id_)
        if found is None:
            return
        if not props.get("delete_with_data"):
            refuse_loss(lakefs, found)
        lakefs.ask(
            f"delete repository {id_!r}",
            lakefs.api.repositories_api.delete_repository,
            id_,
            force=bool(found.read_only),
        )


class Repository(Resource, module="lakefs", name="Repository"):
    """A repository. `name` is what other resources refer to, so that they wait for it."""

    name: pulumi.Output[str]
    storage_namespace: pulumi.Output[str]
    default_branch: pulumi.Output[str]

    def __init__(
        self, name: str, args: RepositoryArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        properties: dict[str, pulumi.Input[Any]] = {
            **args.connection.properties(),
            "name": args.name,
            "storage_namespace": args.storage_namespace,
            "default_branch": args.default_branch,
            "read_only": args.read_only,
            "adopt": args.adopt,
            "delete_with_data": args.delete_with_data,
        }
        super().__init__(RepositoryProvider(), name, properties, options(opts))


def _wrong_names(news: Properties) -> list[CheckFailure]:
    forms = {
        "name": ("[a-z0-9][a-z0-9-]{2,62}", "3 to 63 of a-z, 0-9 and '-', not '-' first"),
        "storage_namespace": (
            "(s3|gs|https?|mem|local)://.+",
            "an address such as s3://bucket/prefix",
        ),
        "default_branch": (r"\w[-\w]*", "letters, digits, '_' and '-', not '-' first"),
    }
    return [
        CheckFailure(
            key, f"lakeFS repository {news['name']!r} has {key} {news[key]!r}; it must be {form}."
        )
        for key, (pattern, form) in forms.items()
        if known(news[key]) and not re.fullmatch(pattern, news[key], re.ASCII)
    ]


def _refused_replacement(olds: Properties, news: Properties) -> list[CheckFailure]:
    """A replacement that would fail half-way, or that nobody has said may lose the data."""
    if not olds or not all(known(news[key]) for key in REPLACING):
        return []
    changed = [key for key in REPLACING if olds[key] != news[key]]
    if not changed:
        return []
    must = f"lakeFS repository {olds['name']!r} must be replaced because of {' and '.join(changed)}"
    failures = []
    if "storage_namespace" not in changed:
        failures.append(
            CheckFailure(
                "storage_namespace",
                f"{must}, and lakeFS never takes a storage namespace twice: give it another one "
                f"than {news['storage_namespace']!r}, and copy what you want to keep.",
            )
        )
    if not olds.get("delete_with_data"):
        failures.append(
            CheckFailure(
                "delete_with_data",
                f"{must}, which deletes it: set delete_with_data, run `pulumi up`, change it then.",
            )
        )
    return failures


def _get(lakefs: "Lakefs", name: str) -> "Found | None":
    with if_there():
        return lakefs.ask(
            f"read repository {name!r}", lakefs.api.repositories_api.get_repository, name
        )
    return None


def _adopted(lakefs: "Lakefs", props: Properties, found: "Found") -> "Found":
    """The repository that is there already, if that is wanted and it is the one declared."""
    name = props["name"]
    if not props["adopt"]:
        raise LakefsError(
            f"lakeFS repository {name!r} exists at {lakefs.endpoint} and is not of this stack: "
            "set adopt to take it over, or choose another name."
        )
    present = _state(props, found)
    for key in REPLACING:
        if present[key] != props[key]:
            raise LakefsError(
                f"lakeFS repository {name!r} cannot be adopted: its {key} is {present[key]!r} and "
                f"{props[key]!r} is declared."
            )
    return found


def _state(props: Properties, found: "Found") -> dict[str, Any]:
    return {
        **connected(props),
        "name": found.id,
        "storage_namespace": found.storage_namespace,
        "default_branch": found.default_branch,
        "read_only": bool(found.read_only),
        "adopt": bool(props.get("adopt")),
        "delete_with_data": bool(props.get("delete_with_data")),
    }
