"""The branch protection of a lakeFS repository: branches that only a merge may change."""

from collections.abc import Sequence
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

if TYPE_CHECKING:
    from lakefs.client import Lakefs

USELESS = {
    "": "an empty one protects nothing",
    "*": "it would leave no branch that can be written, so nothing could ever be merged",
}


@dataclass(frozen=True, kw_only=True)
class BranchProtectionArgs:
    """`patterns` are globs with `*` and `?`: every rule of the repository, in no order."""

    connection: Connection
    repository: pulumi.Input[str]
    patterns: pulumi.Input[Sequence[pulumi.Input[str]]]
    adopt: pulumi.Input[bool] = False


class BranchProtectionProvider(LakefsProvider):
    """Sets the rules under their ETag: a change that someone makes meanwhile is never lost."""

    def check(self, _olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        resource = f"The branch protection of lakeFS repository {news['repository']!r}"
        failures = wrong_connection(news, resource)
        patterns = news["patterns"]
        if not patterns:
            failures.append(
                CheckFailure("patterns", f"{resource} must name at least one branch pattern.")
            )
        elif known(patterns) and all(known(pattern) for pattern in patterns):
            failures += [
                CheckFailure("patterns", f"{resource} has the pattern {pattern!r}; {why}.")
                for pattern, why in USELESS.items()
                if pattern in patterns
            ]
            # the API keeps an order that means nothing
            news["patterns"] = sorted(set(patterns))
        return CheckResult(news, failures)

    def diff(self, _id: str, olds: dict[str, Any], news: dict[str, Any]) -> DiffResult:
        return diff(olds, news, updates=("patterns", "adopt"), replaces=("repository",))

    def create(self, props: dict[str, Any]) -> CreateResult:
        lakefs, repository = connect(props), props["repository"]
        present, etag = _rules(lakefs, repository)
        if present and present != props["patterns"] and not props["adopt"]:
            raise LakefsError(
                f"lakeFS repository {repository!r} already protects {', '.join(present)}: "
                f"set adopt to replace these rules by {', '.join(props['patterns'])}."
            )
        _set(lakefs, repository, props["patterns"], etag)
        return CreateResult(repository, _state(props, repository, props["patterns"]))

    def read(self, id_: str, props: dict[str, Any]) -> ReadResult:
        patterns: list[str] = []
        with if_there():
            patterns, _ = _rules(connect(props), id_)
        if not patterns:
            return ReadResult("", {})
        return ReadResult(id_, _state(props, id_, patterns))

    def update(self, id_: str, _olds: dict[str, Any], news: dict[str, Any]) -> UpdateResult:
        lakefs = connect(news)
        present, etag = _rules(lakefs, id_)
        if present != news["patterns"]:
            _set(lakefs, id_, news["patterns"], etag)
        return UpdateResult(_state(news, id_, news["patterns"]))

    def delete(self, id_: str, props: dict[str, Any]) -> None:
        lakefs = connect(props)
        with if_there():
            _, etag = _rules(lakefs, id_)
            _set(lakefs, id_, [], etag)


class BranchProtection(Resource, module="lakefs", name="BranchProtection"):
    """Which branches of a repository only a merge may change. One resource per repository."""

    repository: pulumi.Output[str]
    patterns: pulumi.Output[Sequence[str]]

    def __init__(
        self, name: str, args: BranchProtectionArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        properties: dict[str, pulumi.Input[Any]] = {
            **args.connection.properties(),
            "repository": args.repository,
            "patterns": args.patterns,
            "adopt": args.adopt,
        }
        super().__init__(BranchProtectionProvider(), name, properties, options(opts))


def _rules(lakefs: "Lakefs", repository: str) -> tuple[list[str], str | None]:
    """The patterns in order of the alphabet, and the ETag of this very list."""
    answer = lakefs.ask(
        f"read the branch protection of {repository!r}",
        lakefs.api.repositories_api.get_branch_protection_rules_with_http_info,
        repository,
    )
    headers = {name.lower(): value for name, value in (answer.headers or {}).items()}
    return sorted(rule.pattern for rule in answer.data or []), headers.get("etag")


def _set(lakefs: "Lakefs", repository: str, patterns: Sequence[str], etag: str | None) -> None:
    try:
        lakefs.ask(
            f"set the branch protection of {repository!r}",
            lakefs.api.repositories_api.set_branch_protection_rules,
            repository,
            [{"pattern": pattern} for pattern in patterns],
            if_match=etag,
        )
    except LakefsError as error:
        if error.status != 412:
            raise
        raise LakefsError(
            f"The branch protection of lakeFS repository {repository!r} was changed by someone "
            "else while it was being set: run `pulumi refresh` and look at the difference.",
            status=412,
        ) from None


def _state(props: Properties, repository: str, patterns: Sequence[str]) -> dict[str, Any]:
    return {
        **connected(props),
        "repository": repository,
        "patterns": list(patterns),
        "adopt": bool(props.get("adopt")),
    }
