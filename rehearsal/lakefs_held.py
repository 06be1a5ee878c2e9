"""What lakeFS holds at the end of a rehearsal, read from the server and not from settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lakefs.action_files import FOLDER
from lakefs.client import LakefsClient
from lakefs.errors import LakefsError
from lakefs.repository_rules import garbage_collection, protected_branches
from rehearsal.errors import RehearsalError
from rehearsal.lakefs_server import LakefsServer


@dataclass(frozen=True, kw_only=True)
class HeldRepository:
    """A repository with its rules; `keep_days` is by branch, and "*" stands for every other one."""

    name: str
    storage_namespace: str
    default_branch: str
    protected: tuple[str, ...]  # patterns of branches that only a merge may change
    actions: tuple[str, ...]  # files on the default branch
    keep_days: Mapping[str, int] = field(default_factory=dict)  # none: for ever


@dataclass(frozen=True, kw_only=True)
class LakefsHeld:
    """The server of the twin, its user, and the twin's repositories in it."""

    endpoint: str | None  # of a server that the user has named; None of the twin's fake
    user: str
    repositories: tuple[HeldRepository, ...]


def read(server: LakefsServer, keys: Mapping[str, str]) -> LakefsHeld | None:
    """Asks the server; a fake of the twin takes `keys`. None where nobody has set it up.

    Raises RehearsalError if it refuses.
    """
    lakefs = server.client(keys)
    try:
        state = lakefs.ask("tell whether it is set up", lakefs.api.internal_api.get_setup_state)
        if state.state != "initialized":  # the update ended before its administrator
            return None
        user = lakefs.ask("show the current user", lakefs.api.auth_api.get_current_user)
        return LakefsHeld(
            endpoint=server.endpoint if server.is_named else None,
            user=user.user.id,
            repositories=tuple(
                _repository(lakefs, each.id, each.storage_namespace, each.default_branch)
                for each in lakefs.everything(
                    "list repositories",
                    lakefs.api.repositories_api.list_repositories,
                    prefix=server.prefix,
                )
            ),
        )
    except LakefsError as error:
        raise RehearsalError(str(error)) from None


def _repository(
    lakefs: LakefsClient, name: str, storage_namespace: str, default_branch: str
) -> HeldRepository:
    files = lakefs.everything(
        f"list the actions of {name!r}",
        lakefs.api.objects_api.list_objects,
        name,
        default_branch,
        prefix=FOLDER,
    )
    patterns, _ = protected_branches(lakefs, name)
    rules = garbage_collection(lakefs, name)
    return HeldRepository(
        name=name,
        storage_namespace=storage_namespace,
        default_branch=default_branch,
        protected=tuple(patterns),
        actions=tuple(each.path.removeprefix(FOLDER) for each in files),
        keep_days={**rules["branch_days"], "*": rules["default_days"]} if rules else {},
    )
