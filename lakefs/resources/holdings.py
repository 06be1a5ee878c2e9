"""What a lakeFS repository holds that would be lost with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakefs.errors import LakefsError
from lakefs.resources.connection import MANAGED

if TYPE_CHECKING:
    from lakefs_sdk.models.repository import Repository as Found

    from lakefs.client import Lakefs


def refuse_loss(lakefs: Lakefs, found: Found) -> None:
    """Refuses the deletion of a repository that is protected or holds anything not made by us."""
    held = _held(lakefs, found)
    if held is not None:
        raise LakefsError(
            f"lakeFS repository {found.id!r} is not deleted: it {held}. Set delete_with_data, run "
            "`pulumi up`, and delete it then; or keep it and run `pulumi state delete`."
        )


def _held(lakefs: Lakefs, found: Found) -> str | None:
    api, name = lakefs.api, found.id
    if found.read_only:
        return "is read-only"
    if lakefs.ask(
        f"read the branch protection of {name!r}",
        api.repositories_api.get_branch_protection_rules,
        name,
    ):
        return "has branch protection rules"
    for tag in lakefs.everything(f"list the tags of {name!r}", api.tags_api.list_tags, name):
        return f"has the tag {tag.id!r}"
    for branch in lakefs.everything(
        f"list the branches of {name!r}", api.branches_api.list_branches, name, show_hidden=True
    ):
        objects = lakefs.everything(
            f"list the objects of {name!r}", api.objects_api.list_objects, name, branch.id
        )
        for entry in objects:
            return f"holds {entry.path!r} on branch {branch.id!r}"
        for commit in lakefs.everything(
            f"list the commits of {name!r}", api.refs_api.log_commits, name, branch.id
        ):
            if commit.parents and not MANAGED.items() <= (commit.metadata or {}).items():
                return f"has the commit {commit.id[:12]} ({commit.message!r}) on {branch.id!r}"
    return None
