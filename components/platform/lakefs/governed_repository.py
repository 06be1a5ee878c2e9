"""A repository whose branch `main` changes by merges alone, each of which passes a check.

Objects of `main` are kept for ever, since a replay needs them; those of other branches for a while.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

from lakefs.action_files import metadata_gate, webhook_gate
from lakefs.resources.action import Action, ActionArgs
from lakefs.resources.branch_protection import BranchProtection, BranchProtectionArgs
from lakefs.resources.connection import Connection
from lakefs.resources.gc_rules import MOST_DAYS, GcRules, GcRulesArgs
from lakefs.resources.repository import Repository, RepositoryArgs
from workloads.backtest.provenance import REQUIRED


@dataclass(frozen=True, kw_only=True)
class GovernedRepositoryArgs:
    """`check_url` is asked before each merge; without it, a merge must carry its provenance.

    `keep_days` is for objects that branches other than main refer to no more; None keeps them.
    """

    connection: Connection
    repository: str
    storage_namespace: pulumi.Input[str]
    check_url: str | None = None
    required: Sequence[str] = REQUIRED
    keep_days: int | None = None
    adopt: bool = False
    delete_with_data: bool = False


class GovernedRepository(pulumi.ComponentResource):
    """The repository, the check before a merge into `main`, its branch protection and its rules."""

    repository: pulumi.Output[str]

    def __init__(
        self, name: str, args: GovernedRepositoryArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:platform:GovernedRepository", name, None, opts)
        repository = Repository(
            f"{name}-repository",
            RepositoryArgs(
                connection=args.connection,
                name=args.repository,
                storage_namespace=args.storage_namespace,
                adopt=args.adopt,
                delete_with_data=args.delete_with_data,
            ),
            pulumi.ResourceOptions(parent=self, protect=True),
        )
        # They go with the repository, and never before it: where lakeFS or we refuse to delete it,
        # it is still protected.
        inside = pulumi.ResourceOptions(parent=self, deleted_with=repository)
        check = Action(
            f"{name}-check",
            ActionArgs(
                connection=args.connection,
                repository=repository.name,
                name="merge-check",
                content=_check(args),
                adopt=args.adopt,
            ),
            inside,
        )
        BranchProtection(
            f"{name}-protection",
            BranchProtectionArgs(
                connection=args.connection,
                repository=repository.name,
                patterns=["main"],
                adopt=args.adopt,
            ),
            # nobody can merge into main without the check, not even once
            pulumi.ResourceOptions.merge(inside, pulumi.ResourceOptions(depends_on=[check])),
        )
        if args.keep_days is not None:
            GcRules(
                f"{name}-gc",
                GcRulesArgs(
                    connection=args.connection,
                    repository=repository.name,
                    default_days=args.keep_days,
                    branch_days={"main": MOST_DAYS},
                    adopt=args.adopt,
                ),
                inside,
            )
        self.repository = repository.name
        self.register_outputs({"repository": self.repository})


def _check(args: GovernedRepositoryArgs) -> str:
    if args.check_url is not None:
        return webhook_gate("merge-check", branches=["main"], url=args.check_url)
    return metadata_gate("merge-check", branches=["main"], required=args.required)
