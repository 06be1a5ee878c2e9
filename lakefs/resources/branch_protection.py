"""The branch protection of a lakeFS repository: branches that only a merge may change."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi.dynamic import CheckFailure, Resource

from lakefs.client import LakefsClient
from lakefs.errors import LakefsError, if_there
from lakefs.repository_rules import protected_branches
from lakefs.resources.connection import LakefsProvider, Properties, ResourceArgs, known, options

USELESS = {
    "": "an empty one protects nothing",
    "*": "it would leave no branch that can be written, so nothing could ever be merged",
}


@dataclass(frozen=True, kw_only=True)
class BranchProtectionArgs(ResourceArgs):
    """All rules of the repository: `patterns` are globs with `*` and `?`, in any order."""

    repository: pulumi.Input[str]
    patterns: pulumi.Input[Sequence[pulumi.Input[str]]]
    adopt: pulumi.Input[bool] = False


class BranchProtectionProvider(LakefsProvider):
    """Sets the rules under their ETag: a change that someone makes meanwhile is never lost."""

    updates = ("patterns",)
    replaces = ("repository",)

    def title(self, props: Properties) -> str:
        return f"The branch protection of lakeFS repository {props['repository']!r}"

    def mistakes(self, _olds: Properties, news: dict[str, Any]) -> list[CheckFailure]:
        """Brings the patterns into the order of the alphabet: the API keeps one without meaning."""
        patterns, title = news["patterns"], self.title(news)
        if not patterns:
            return [CheckFailure("patterns", f"{title} must name at least one branch pattern.")]
        if not known(patterns) or not all(known(pattern) for pattern in patterns):
            return []
        news["patterns"] = sorted(set(patterns))
        return [
            CheckFailure("patterns", f"{title} has the pattern {pattern!r}; {why}.")
            for pattern, why in USELESS.items()
            if pattern in patterns
        ]

    def make(self, lakefs: LakefsClient, props: Properties) -> Properties:
        repository, wanted = props["repository"], props["patterns"]
        present, etag = protected_branches(lakefs, repository)
        if present and present != wanted and not props["adopt"]:
            raise LakefsError(
                f"lakeFS repository {repository!r} already protects {', '.join(present)}: "
                f"set adopt to replace these rules by {', '.join(wanted)}."
            )
        _set(lakefs, repository, wanted, etag)
        return props

    def find(self, lakefs: LakefsClient, id_: str, _props: Properties) -> Properties | None:
        with if_there():
            patterns, _ = protected_branches(lakefs, id_)
            if patterns:
                return {"repository": id_, "patterns": patterns}
        return None

    def change(self, lakefs: LakefsClient, id_: str, props: Properties) -> Properties:
        present, etag = protected_branches(lakefs, id_)
        if present != props["patterns"]:
            _set(lakefs, id_, props["patterns"], etag)
        return props

    def remove(self, lakefs: LakefsClient, id_: str, _props: Properties) -> None:
        with if_there():
            _, etag = protected_branches(lakefs, id_)
            _set(lakefs, id_, [], etag)


class BranchProtection(Resource, module="lakefs", name="BranchProtection"):
    """The branches of a repository that only a merge may change. One resource per repository."""

    repository: pulumi.Output[str]
    patterns: pulumi.Output[Sequence[str]]

    def __init__(
        self, name: str, args: BranchProtectionArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(BranchProtectionProvider(), name, args.properties(), options(opts))


def _set(lakefs: LakefsClient, repository: str, patterns: Sequence[str], etag: str | None) -> None:
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
