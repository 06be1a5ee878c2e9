"""Garbage collection rules of a lakeFS repository: how long what a branch let go of is kept.

They delete nothing by themselves. A run of lakeFS's collector does, which is a job of its own, and
it takes what no commit within its branch's days holds. What must be replayed has to stay within.
"""

import json
from collections.abc import Mapping
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

MOST_DAYS = 36_500
"""A hundred years: for ever, in a number that lakeFS can add to a date."""


@dataclass(frozen=True, kw_only=True)
class GcRulesArgs:
    """Days by branch, and those of every other branch: every rule of the repository."""

    connection: Connection
    repository: pulumi.Input[str]
    default_days: pulumi.Input[int]
    branch_days: pulumi.Input[Mapping[str, pulumi.Input[int]]]
    adopt: pulumi.Input[bool] = False


class GcRulesProvider(LakefsProvider):
    """Sets the rules as one. The API has no ETag for them: who sets them last wins."""

    def check(self, _olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        resource = f"The garbage collection of lakeFS repository {news['repository']!r}"
        failures = wrong_connection(news, resource)
        given = {"default_days": news["default_days"]}
        if known(news["branch_days"]):
            given |= {f"branch_days.{name}": n for name, n in news["branch_days"].items()}
        failures += [
            CheckFailure(
                key.split(".")[0],
                f"{resource} has {key} {value!r}; it must be a whole number of days from 1 to "
                f"{MOST_DAYS}.",
            )
            for key, value in given.items()
            if known(value) and not _is_days(value)
        ]
        return CheckResult(news, failures)

    def diff(self, _id: str, olds: dict[str, Any], news: dict[str, Any]) -> DiffResult:
        changing = ("default_days", "branch_days", "adopt")
        return diff(olds, news, updates=changing, replaces=("repository",))

    def create(self, props: dict[str, Any]) -> CreateResult:
        lakefs, repository = connect(props), props["repository"]
        present = _rules(lakefs, repository)
        if present not in (None, _declared(props)) and not props["adopt"]:
            raise LakefsError(
                f"lakeFS repository {repository!r} already has garbage collection rules: set adopt "
                "to replace them."
            )
        _set(lakefs, repository, props)
        return CreateResult(repository, _state(props, repository, _declared(props)))

    def read(self, id_: str, props: dict[str, Any]) -> ReadResult:
        present = _rules(connect(props), id_)
        if present is None:
            return ReadResult("", {})
        return ReadResult(id_, _state(props, id_, present))

    def update(self, id_: str, _olds: dict[str, Any], news: dict[str, Any]) -> UpdateResult:
        lakefs = connect(news)
        if _rules(lakefs, id_) != _declared(news):
            _set(lakefs, id_, news)
        return UpdateResult(_state(news, id_, _declared(news)))

    def delete(self, id_: str, props: dict[str, Any]) -> None:
        lakefs = connect(props)
        with if_there():
            lakefs.ask(
                f"delete the garbage collection rules of {id_!r}",
                lakefs.api.repositories_api.delete_gc_rules,
                id_,
            )


class GcRules(Resource, module="lakefs", name="GcRules"):
    """How long each branch keeps what it let go of. One resource per repository."""

    repository: pulumi.Output[str]

    def __init__(
        self, name: str, args: GcRulesArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        properties: dict[str, pulumi.Input[Any]] = {
            **args.connection.properties(),
            "repository": args.repository,
            "default_days": args.default_days,
            "branch_days": args.branch_days,
            "adopt": args.adopt,
        }
        super().__init__(GcRulesProvider(), name, properties, options(opts))


def _is_days(value: object) -> bool:
    """Pulumi hands numbers over as floats."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return value % 1 == 0 and 1 <= value <= MOST_DAYS


def _declared(props: Properties) -> dict[str, Any]:
    days = {name: int(value) for name, value in props["branch_days"].items()}
    return {"default_days": int(props["default_days"]), "branch_days": days}


def _rules(lakefs: "Lakefs", repository: str) -> dict[str, Any] | None:
    """What is set, as it is declared; None where nothing is, or no repository.

    Read past the SDK's model: the server answers null, not a list, for rules without branches.
    """
    with if_there():
        answer = lakefs.ask(
            f"read the garbage collection rules of {repository!r}",
            lakefs.api.repositories_api.get_gc_rules_with_http_info,
            repository,
            _preload_content=False,
        )
        found = json.loads(answer.raw_data or b"{}")
        days = {rule["branch_id"]: rule["retention_days"] for rule in found.get("branches") or []}
        return {"default_days": found["default_retention_days"], "branch_days": days}
    return None


def _set(lakefs: "Lakefs", repository: str, props: Properties) -> None:
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


def _state(props: Properties, repository: str, rules: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **connected(props),
        "repository": repository,
        **rules,
        "adopt": bool(props.get("adopt")),
    }
