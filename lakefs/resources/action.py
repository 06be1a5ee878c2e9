"""An action file in a lakeFS repository, brought in by a merge as every other change is."""

import contextlib
import uuid
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
from lakefs.resources import gate
from lakefs.resources.connection import (
    MANAGED,
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

if TYPE_CHECKING:
    from lakefs.repository import DataRepository


@dataclass(frozen=True, kw_only=True)
class ActionArgs:
    """The file `_lakefs_actions/<name>.yaml` on `branch`, where branches start from.

    `adopt` lets it replace a file of other content that is there already.
    """

    connection: Connection
    repository: pulumi.Input[str]
    name: pulumi.Input[str]
    content: pulumi.Input[str]
    branch: pulumi.Input[str] = "main"
    adopt: pulumi.Input[bool] = False


class ActionProvider(LakefsProvider):
    """Writes, reads and removes one action file through a short-lived branch and a merge.

    So it works whether its branch is protected or not, and what other people do at the same time
    is either merged with it or refused whole.
    """

    def check(self, _olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        resource = f"lakeFS action {news['name']!r} of repository {news['repository']!r}"
        failures = wrong_connection(news, resource)
        if known(news["content"]):
            failures += [
                CheckFailure("content", f"{resource}: {problem}")
                for problem in gate.problems(news["content"])
            ]
        return CheckResult(news, failures)

    def diff(self, _id: str, olds: dict[str, Any], news: dict[str, Any]) -> DiffResult:
        places = ("repository", "branch", "name")
        return diff(olds, news, updates=("content", "adopt"), replaces=places)

    def create(self, props: dict[str, Any]) -> CreateResult:
        present = _read(props)
        if present not in (None, props["content"]) and not props["adopt"]:
            raise LakefsError(
                f"{_path(props)} on {props['branch']!r} of lakeFS repository "
                f"{props['repository']!r} exists with other content: set adopt to replace it."
            )
        if present != props["content"]:
            _merge_in(props, props["content"])
        return CreateResult(_id(props), _state(props, props["content"]))

    def read(self, id_: str, props: dict[str, Any]) -> ReadResult:
        repository, branch, name = id_.split("/", 2)
        place = {**props, "repository": repository, "branch": branch, "name": name}
        content = _read(place)
        if content is None:
            return ReadResult("", {})
        return ReadResult(id_, _state(place, content))

    def update(self, _id: str, _olds: dict[str, Any], news: dict[str, Any]) -> UpdateResult:
        if _read(news) != news["content"]:
            _merge_in(news, news["content"])
        return UpdateResult(_state(news, news["content"]))

    def delete(self, _id: str, props: dict[str, Any]) -> None:
        if _read(props) is not None:
            _merge_in(props, None)


class Action(Resource, module="lakefs", name="Action"):
    """An action file. A branch opened before it was there does not have it."""

    repository: pulumi.Output[str]
    branch: pulumi.Output[str]
    name: pulumi.Output[str]
    content: pulumi.Output[str]

    def __init__(
        self, name: str, args: ActionArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        properties: dict[str, pulumi.Input[Any]] = {
            **args.connection.properties(),
            "repository": args.repository,
            "branch": args.branch,
            "name": args.name,
            "content": args.content,
            "adopt": args.adopt,
        }
        super().__init__(ActionProvider(), name, properties, options(opts))


def _path(props: Properties) -> str:
    return f"{gate.FOLDER}{props['name']}.yaml"


def _id(props: Properties) -> str:
    return f"{props['repository']}/{props['branch']}/{props['name']}"


def _state(props: Properties, content: str) -> dict[str, Any]:
    return {
        **connected(props),
        "repository": props["repository"],
        "branch": props["branch"],
        "name": props["name"],
        "content": content,
        "adopt": bool(props.get("adopt")),
    }


def _repository(props: Properties) -> "DataRepository":
    from lakefs.repository import (  # noqa: PLC0415  # loads the SDK: 0.6 s
        DataRepository,
    )

    return DataRepository(connect(props), props["repository"])


def _read(props: Properties) -> str | None:
    """The file as committed, or None where it, its branch or its repository is not there."""
    repository = _repository(props)
    with if_there():
        content = repository.read(repository.head(props["branch"]), _path(props))
        return content.decode(errors="replace")
    return None


def _merge_in(props: Properties, content: str | None) -> None:
    """Brings the new content, or its absence, into the branch by one merge."""
    repository, path = _repository(props), _path(props)
    branch = f"gpu-fleet-{uuid.uuid4().hex[:8]}"
    message = f"{'Remove' if content is None else 'Set'} the action {props['name']}"
    repository.open_branch(branch, repository.head(props["branch"]))
    try:
        if content is None:
            repository.remove(branch, path)
        else:
            repository.upload(branch, path, content.encode())
        repository.commit(branch, message, MANAGED)
        repository.merge(branch, props["branch"], message, MANAGED)
    finally:
        # what went wrong above is what counts; a branch left behind harms nobody
        with contextlib.suppress(LakefsError):
            repository.delete_branch(branch)
