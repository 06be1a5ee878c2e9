"""A lakeFS repository as a resource of the program."""

import re
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi.dynamic import CheckFailure, Resource

from lakefs.action_files import FOLDER
from lakefs.client import LakefsClient
from lakefs.errors import LakefsError, if_there
from lakefs.repository_rules import protected_branches
from lakefs.resources.connection import (
    MANAGED,
    LakefsProvider,
    Properties,
    ResourceArgs,
    known,
    options,
)

REPLACING = ("name", "storage_namespace", "default_branch", "read_only")


@dataclass(frozen=True, kw_only=True)
class RepositoryArgs(ResourceArgs):
    """`storage_namespace` is "s3://bucket/prefix", never used before.

    `adopt` takes over a repository that exists already. `delete_with_data` allows the deletion of
    one that holds anything.
    """

    name: pulumi.Input[str]
    storage_namespace: pulumi.Input[str]
    default_branch: pulumi.Input[str] = "main"
    read_only: pulumi.Input[bool] = False
    adopt: pulumi.Input[bool] = False
    delete_with_data: pulumi.Input[bool] = False


class RepositoryProvider(LakefsProvider):
    """Creates, reads and deletes a repository. lakeFS cannot change one: that is a replacement."""

    flags = ("adopt", "delete_with_data")
    replaces = REPLACING

    def title(self, props: Properties) -> str:
        return f"lakeFS repository {props['name']!r}"

    def mistakes(self, olds: Properties, news: dict[str, Any]) -> list[CheckFailure]:
        return _wrong_names(news) + _refused_replacement(olds, news)

    def id_of(self, props: Properties) -> str:
        return str(props["name"])

    def make(self, lakefs: LakefsClient, props: Properties) -> Properties:
        name = props["name"]
        try:
            lakefs.ask(
                f"create repository {name!r}",
                lakefs.api.repositories_api.create_repository,
                {key: props[key] for key in REPLACING},
            )
        except LakefsError as error:
            present = self.find(lakefs, name, props) if error.status == 409 else None
            if present is None:
                raise
            _refuse_to_adopt(lakefs, props, present)
        return props

    def find(self, lakefs: LakefsClient, id_: str, _props: Properties) -> Properties | None:
        with if_there():
            found = lakefs.ask(
                f"read repository {id_!r}", lakefs.api.repositories_api.get_repository, id_
            )
            return {
                "name": found.id,
                "storage_namespace": found.storage_namespace,
                "default_branch": found.default_branch,
                "read_only": bool(found.read_only),
            }
        return None

    def change(self, lakefs: LakefsClient, id_: str, props: Properties) -> Properties:
        """Changes nothing in lakeFS: it proves the new keys and keeps the new flags."""
        found = self.find(lakefs, id_, props)
        if found is None:
            raise LakefsError(
                f"lakeFS repository {id_!r} is gone from {props['endpoint']}: run `pulumi refresh`."
            )
        return found

    def remove(self, lakefs: LakefsClient, id_: str, props: Properties) -> None:
        found = self.find(lakefs, id_, props)
        if found is None:
            return
        if not props.get("delete_with_data"):
            _refuse_loss(lakefs, found)
        lakefs.ask(
            f"delete repository {id_!r}",
            lakefs.api.repositories_api.delete_repository,
            id_,
            force=found["read_only"],
        )


class Repository(Resource, module="lakefs", name="Repository"):
    """A repository. `name` is what other resources refer to, so that they wait for it."""

    name: pulumi.Output[str]
    storage_namespace: pulumi.Output[str]
    default_branch: pulumi.Output[str]

    def __init__(
        self, name: str, args: RepositoryArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(RepositoryProvider(), name, args.properties(), options(opts))


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


def _refuse_to_adopt(lakefs: LakefsClient, props: Properties, present: Properties) -> None:
    """Raises LakefsError unless adoption is wanted and the repository is the one declared."""
    name = props["name"]
    if not props["adopt"]:
        raise LakefsError(
            f"lakeFS repository {name!r} exists at {lakefs.endpoint} and is not of this stack: "
            "set adopt to take it over, or choose another name."
        )
    for key in REPLACING:
        if present[key] != props[key]:
            raise LakefsError(
                f"lakeFS repository {name!r} cannot be adopted: its {key} is {present[key]!r} and "
                f"{props[key]!r} is declared."
            )


def _refuse_loss(lakefs: LakefsClient, found: Properties) -> None:
    """Raises LakefsError for a repository that somebody protects or has put something into.

    What this program makes in one is no data: the protection of its default branch and actions.
    """
    held = _held(lakefs, found)
    if held is not None:
        raise LakefsError(
            f"lakeFS repository {found['name']!r} is not deleted: it {held}. Set delete_with_data, "
            "run `pulumi up`, and delete it then; or keep it and run `pulumi state delete`."
        )


def _held(lakefs: LakefsClient, found: Properties) -> str | None:
    api, name = lakefs.api, found["name"]
    if found["read_only"]:
        return "is read-only"
    patterns, _ = protected_branches(lakefs, name)
    if others := sorted({*patterns} - {found["default_branch"]}):
        return f"protects the branch {others[0]!r}"
    for tag in lakefs.everything(f"list the tags of {name!r}", api.tags_api.list_tags, name):
        return f"has the tag {tag.id!r}"
    for branch in lakefs.everything(
        f"list the branches of {name!r}", api.branches_api.list_branches, name, show_hidden=True
    ):
        objects = lakefs.everything(
            f"list the objects of {name!r}", api.objects_api.list_objects, name, branch.id
        )
        for entry in objects:
            if not entry.path.startswith(FOLDER):
                return f"holds {entry.path!r} on branch {branch.id!r}"
        for commit in lakefs.everything(
            f"list the commits of {name!r}", api.refs_api.log_commits, name, branch.id
        ):
            if commit.parents and not MANAGED.items() <= (commit.metadata or {}).items():
                return f"has the commit {commit.id[:12]} ({commit.message!r}) on {branch.id!r}"
    return None
