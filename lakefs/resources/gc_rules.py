"""Garbage collection rules of a lakeFS repository: the days that unreferenced objects are kept.

They delete nothing by themselves. A run of lakeFS's collector does, which is a job of its own: it
removes objects that no commit of a branch within that branch's days refers to. Commits that must be
replayed have to stay within them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi.dynamic import CheckFailure, Resource

from lakefs.client import LakefsClient
from lakefs.errors import LakefsError, if_there
from lakefs.repository_rules import garbage_collection
from lakefs.resources.connection import LakefsProvider, Properties, ResourceArgs, known, options

MOST_DAYS = 36_500
"""A hundred years: for ever, in a number that lakeFS can add to a date."""


@dataclass(frozen=True, kw_only=True)
class GcRulesArgs(ResourceArgs):
    """All rules of the repository: days by branch, and the days of every other branch."""

    repository: pulumi.Input[str]
    default_days: pulumi.Input[int]
    branch_days: pulumi.Input[Mapping[str, pulumi.Input[int]]]
    adopt: pulumi.Input[bool] = False


class GcRulesProvider(LakefsProvider):
    """Sets all rules at once. The API has no ETag for them: who sets them last wins."""

    updates = ("default_days", "branch_days")
    replaces = ("repository",)

    def title(self, props: Properties) -> str:
        return f"The garbage collection of lakeFS repository {props['repository']!r}"

    def mistakes(self, _olds: Properties, news: dict[str, Any]) -> list[CheckFailure]:
        given = {"default_days": news["default_days"]}
        if known(news["branch_days"]):
            given |= {f"branch_days.{name}": n for name, n in news["branch_days"].items()}
        return [
            CheckFailure(
                key.split(".")[0],
                f"{self.title(news)} has {key} {value!r}; it must be a whole number of days from 1 "
                f"to {MOST_DAYS}.",
            )
            for key, value in given.items()
            if known(value) and not _is_days(value)
        ]

    def make(self, lakefs: LakefsClient, props: Properties) -> Properties:
        repository = props["repository"]
        if (
            garbage_collection(lakefs, repository) not in (None, _declared(props))
            and not props["adopt"]
        ):
            raise LakefsError(
                f"lakeFS repository {repository!r} already has garbage collection rules: set adopt "
                "to replace them."
            )
        return _set(lakefs, repository, props)

    def find(self, lakefs: LakefsClient, id_: str, _props: Properties) -> Properties | None:
        present = garbage_collection(lakefs, id_)
        return None if present is None else {"repository": id_, **present}

    def change(self, lakefs: LakefsClient, id_: str, props: Properties) -> Properties:
        declared = _declared(props)
        if garbage_collection(lakefs, id_) != declared:
            return _set(lakefs, id_, props)
        return {"repository": id_, **declared}

    def remove(self, lakefs: LakefsClient, id_: str, _props: Properties) -> None:
        with if_there():
            lakefs.ask(
                f"delete the garbage collection rules of {id_!r}",
                lakefs.api.repositories_api.delete_gc_rules,
                id_,
            )


class GcRules(Resource, module="lakefs", name="GcRules"):
    """The days that each branch keeps its objects. One resource per repository."""

    repository: pulumi.Output[str]

    def __init__(
        self, name: str, args: GcRulesArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(GcRulesProvider(), name, args.properties(), options(opts))


def _is_days(value: object) -> bool:
    """Pulumi hands numbers over as floats."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return value % 1 == 0 and 1 <= value <= MOST_DAYS


def _declared(props: Properties) -> dict[str, Any]:
    days = {name: int(value) for name, value in props["branch_days"].items()}
    return {"default_days": int(props["default_days"]), "branch_days": days}


def _set(lakefs: LakefsClient, repository: str, props: Properties) -> dict[str, Any]:
    rules = _declared(props)
    lakefs.ask(
        f"set the garbage collection rules of {repository!r}",
        lakefs.api.repositories_api.set_gc_rules,
        repository,
        {
            "default_retention_days": rules["default_days"],
            "branches": [
                {"branch_id": name, "retention_days": days}
                for name, days in sorted(rules["branch_days"].items())
            ],
        },
    )
    return {"repository": repository, **rules}
