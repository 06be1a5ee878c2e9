"""The rules of a lakeFS repository as its server has them: protected branches, days to keep."""

import json
from typing import Any

from lakefs.client import LakefsClient
from lakefs.errors import if_there


def protected_branches(lakefs: LakefsClient, repository: str) -> tuple[list[str], str | None]:
    """The patterns in order of the alphabet, and the ETag of this very list."""
    answer = lakefs.ask(
        f"read the branch protection of {repository!r}",
        lakefs.api.repositories_api.get_branch_protection_rules_with_http_info,
        repository,
    )
    headers = {name.lower(): value for name, value in (answer.headers or {}).items()}
    return sorted(rule.pattern for rule in answer.data or []), headers.get("etag")


def garbage_collection(lakefs: LakefsClient, repository: str) -> dict[str, Any] | None:
    """`default_days` and `branch_days`; None without rules or repository.

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
