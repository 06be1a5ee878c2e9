"""An action file in a lakeFS repository, brought in by a merge as every other change is."""

import contextlib
import uuid
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi.dynamic import CheckFailure, Resource

from lakefs import action_files
from lakefs.client import LakefsClient
from lakefs.errors import LakefsError, if_there
from lakefs.repository import DataRepository
from lakefs.resources.connection import (
    MANAGED,
    LakefsProvider,
    Properties,
    ResourceArgs,
    known,
    options,
)


@dataclass(frozen=True, kw_only=True)
class ActionArgs(ResourceArgs):
    """The file `_lakefs_actions/<name>.yaml` on `branch`, where branches start from.

    `adopt` lets it replace a file of other content that is there already.
    """

    repository: pulumi.Input[str]
    name: pulumi.Input[str]
    content: pulumi.Input[str]
    branch: pulumi.Input[str] = "main"
    adopt: pulumi.Input[bool] = False


class ActionProvider(LakefsProvider):
    """Writes, reads and removes one action file through a short-lived branch and a merge.

    So it works on protected branches too, and a change that somebody else makes at the same time
    is either merged with it or refused whole.
    """

    updates = ("content",)
    replaces = ("repository", "branch", "name")

    def title(self, props: Properties) -> str:
        return f"lakeFS action {props['name']!r} of repository {props['repository']!r}"

    def mistakes(self, _olds: Properties, news: dict[str, Any]) -> list[CheckFailure]:
        if not known(news["content"]):
            return []
        return [
            CheckFailure("content", f"{self.title(news)}: {problem}")
            for problem in action_files.problems(news["content"])
        ]

    def id_of(self, props: Properties) -> str:
        return "/".join(str(props[key]) for key in self.replaces)

    def make(self, lakefs: LakefsClient, props: Properties) -> Properties:
        present = _read(lakefs, props)
        if present not in (None, props["content"]) and not props["adopt"]:
            raise LakefsError(
                f"{_path(props)} on {props['branch']!r} of lakeFS repository "
                f"{props['repository']!r} exists with other content: set adopt to replace it."
            )
        if present != props["content"]:
            _merge_in(lakefs, props, props["content"])
        return props

    def find(self, lakefs: LakefsClient, id_: str, _props: Properties) -> Properties | None:
        place = dict(zip(self.replaces, id_.split("/", 2), strict=True))
        content = _read(lakefs, place)
        return None if content is None else {**place, "content": content}

    def change(self, lakefs: LakefsClient, _id: str, props: Properties) -> Properties:
        if _read(lakefs, props) != props["content"]:
            _merge_in(lakefs, props, props["content"])
        return props

    def remove(self, lakefs: LakefsClient, _id: str, props: Properties) -> None:
        if _read(lakefs, props) is not None:
            _merge_in(lakefs, props, None)


class Action(Resource, module="lakefs", name="Action"):
    """An action file. A branch that was opened before does not have it."""

    repository: pulumi.Output[str]
    branch: pulumi.Output[str]
    name: pulumi.Output[str]
    content: pulumi.Output[str]

    def __init__(
        self, name: str, args: ActionArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(ActionProvider(), name, args.properties(), options(opts))


def _path(place: Properties) -> str:
    return f"{action_files.FOLDER}{place['name']}.yaml"


def _read(lakefs: LakefsClient, place: Properties) -> str | None:
    """The file as committed, or None where it, its branch or its repository is not there."""
    repository = DataRepository(lakefs, place["repository"])
    with if_there():
        content = repository.read(repository.head(place["branch"]), _path(place))
        return content.decode(errors="replace")
    return None


def _merge_in(lakefs: LakefsClient, place: Properties, content: str | None) -> None:
    """Sets the content of the file by one merge; None removes the file."""
    repository, path = DataRepository(lakefs, place["repository"]), _path(place)
    branch = f"gpu-fleet-{uuid.uuid4().hex[:8]}"
    message = f"{'Remove' if content is None else 'Set'} the action {place['name']}"
    repository.open_branch(branch, repository.head(place["branch"]))
    try:
        if content is None:
            repository.remove(branch, path)
        else:
            repository.upload(branch, path, content.encode())
        repository.commit(branch, message, MANAGED)
        repository.merge(branch, place["branch"], message, MANAGED)
    finally:
        # what went wrong above is what counts; a branch left behind harms nobody
        with contextlib.suppress(LakefsError):
            repository.delete_branch(branch)
