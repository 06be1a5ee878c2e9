"""The lakeFS server of a twin: a fake of its own, or one that the user's environment names.

The program knows its server by the endpoint of the stack file. In a twin, each call for something
inside lakeFS goes to this server in its place. The fake begins empty, and its administrator gets
the made-up keys of the stack. A named server (LAKEFS_ENDPOINT, LAKEFS_ACCESS_KEY_ID,
LAKEFS_SECRET_ACCESS_KEY) has repositories of others too: the twin's have names with a prefix that
no other rehearsal has, and go when the twin goes. Its keys are never written to a file.
"""

import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lakefs.client import LakefsClient
from lakefs.errors import ENDPOINT_FORM, LakefsError, is_endpoint
from lakefs.fake import Model, serving
from rehearsal.certificates import write_private
from rehearsal.errors import RehearsalError

FILE = "lakefs.json"
ENDPOINT = "LAKEFS_ENDPOINT"
KEYS = {
    "access_key_id": "LAKEFS_ACCESS_KEY_ID",
    "secret_access_key": "LAKEFS_SECRET_ACCESS_KEY",
}
SECRETS = {
    "access_key_id": "lakefs_access_key_id",
    "secret_access_key": "lakefs_secret_access_key",
}
"""The secrets of the stack that are the keys of its administrator."""
NAMESPACE = "LAKEFS_STORAGE_NAMESPACE"
DEFAULT_NAMESPACE = "local://gpu-fleet-rehearsals"
REPOSITORY = ":Repository"
"""How the type of the resource ends whose `name` is that of a repository."""


@dataclass(frozen=True, kw_only=True)
class LakefsServer:
    """A server. Without `prefix` it is the twin's own, and its keys are those of the stack."""

    endpoint: str
    prefix: str = ""
    namespace: str = ""

    @property
    def is_named(self) -> bool:
        """Whether the user has named it, so that it may hold what is not the twin's."""
        return bool(self.prefix)

    def keys(self) -> Mapping[str, str]:
        """The keys of the user's environment, for a named server alone."""
        if not self.is_named:
            return {}
        missing = [name for name in KEYS.values() if not os.environ.get(name)]
        if missing:
            raise RehearsalError(
                f"The rehearsal uses the lakeFS server {self.endpoint}: set {' and '.join(missing)}"
                " in the environment."
            )
        return {key: os.environ[name] for key, name in KEYS.items()}

    def there(self, type_: str, properties: Mapping[str, Any]) -> dict[str, Any]:
        """Properties of the program as this server knows them."""
        found = {**properties, "endpoint": self.endpoint, **self.keys()}
        name = "name" if type_.endswith(REPOSITORY) else "repository"
        if self.is_named and name in found:
            found[name] = f"{self.prefix}{found[name]}"
        if self.is_named and "storage_namespace" in found:
            found["storage_namespace"] = f"{self.namespace}/{found[name]}"
        return found

    def back(self, type_: str, given: Mapping[str, Any], held: Mapping[str, Any]) -> dict[str, Any]:
        """What the server holds, in the program's words; what differs from `given` stays so."""
        there = self.there(type_, given)
        return {
            key: given[key] if key in given and there[key] == value else value
            for key, value in held.items()
        }

    def client(self, keys: Mapping[str, str]) -> LakefsClient:
        """A client; a server of the twin's own takes `keys`."""
        return LakefsClient(self.endpoint, **{**keys, **self.keys()})


@contextmanager
def served(directory: Path) -> Iterator[LakefsServer]:
    """Yields the server that `choose` has written down, or serves a new and empty one."""
    if named := of_twin(directory):
        yield named
        return
    with serving(Model(access_key_id="", secret_access_key="", initialized=False)) as fake:
        server = LakefsServer(endpoint=fake.endpoint)
        _write(directory, server)
        yield server


def of_twin(directory: Path) -> LakefsServer | None:
    """The server of the twin in `directory`; None before it has one."""
    try:
        found = json.loads((directory / FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return LakefsServer(**found)


def variables() -> dict[str, str]:
    """The keys in the user's environment, which the stand-in providers alone are given."""
    return {name: os.environ[name] for name in KEYS.values() if name in os.environ}


def choose(directory: Path) -> None:
    """Writes down which server the user's environment names, once it has answered.

    Raises RehearsalError where the server cannot be used: nothing has begun then.
    """
    endpoint = os.environ.get(ENDPOINT)
    if not endpoint:
        return
    if not is_endpoint(endpoint):
        shown = endpoint.rpartition("@")[2]  # what is before it may be a password
        raise RehearsalError(f'{ENDPOINT} is "{shown}"; allowed: {ENDPOINT_FORM}.')
    server = LakefsServer(
        endpoint=endpoint.rstrip("/"),
        prefix=f"rehearsal-{secrets.token_hex(4)}-",
        namespace=os.environ.get(NAMESPACE, DEFAULT_NAMESPACE).rstrip("/"),
    )
    try:
        _check(server.client({}))
    except LakefsError as error:
        raise RehearsalError(f"{ENDPOINT}: {error}") from None
    _write(directory, server)


def take_back(directory: Path) -> None:
    """Removes from a named server what the twin made there.

    Raises RehearsalError where it cannot, with what is left; the twin's file then stays.
    """
    server = of_twin(directory)
    if server is not None and server.is_named:
        try:
            _remove(server)
        except (LakefsError, RehearsalError) as error:
            raise RehearsalError(
                f"Repositories {server.prefix}* may be left at {server.endpoint}: {error} Then run "
                f"`make rehearse-stop ENV={directory.name}`, or delete them and {directory / FILE}."
            ) from None
    (directory / FILE).unlink(missing_ok=True)


def _remove(server: LakefsServer) -> None:
    lakefs = server.client({})
    repositories = lakefs.api.repositories_api
    made = [
        each.id
        for each in lakefs.everything(
            "list repositories", repositories.list_repositories, prefix=server.prefix
        )
    ]
    for name in made:
        lakefs.ask(f"delete {name!r}", repositories.delete_repository, name, force=True)


def _check(lakefs: LakefsClient) -> None:
    """Raises LakefsError unless the server is set up and takes the keys."""
    state = lakefs.ask("tell whether it is set up", lakefs.api.internal_api.get_setup_state)
    if state.state != "initialized":
        raise LakefsError(
            f"Nobody has set up lakeFS at {lakefs.endpoint}, and a rehearsal cannot take back that "
            "it did: make its administrator first."
        )
    lakefs.ask("show the current user", lakefs.api.auth_api.get_current_user)


def _write(directory: Path, server: LakefsServer) -> None:
    write_private(directory / FILE, json.dumps(asdict(server)).encode())
