"""Lists the objects of a cluster as the API server has them, of whatever kinds it serves.

Lists come in pages (https://kubernetes.io/docs/reference/using-api/api-concepts/, "Retrieving large
results sets in chunks"). A page whose token has expired in between makes the list start again.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from httpx2 import Client, HTTPError, Response
from lightkube.core.exceptions import ConfigError

from kube.client import KubeError, reason

PAGE = 500
TRIES = 3
FORBIDDEN, NOT_FOUND, EXPIRED = 403, 404, 410
Object = dict[str, Any]


class ForbiddenError(KubeError):
    """The access does not allow to list a kind."""


@dataclass(frozen=True, kw_only=True)
class Served:
    """A kind that the API server serves."""

    group: str
    version: str
    resource: str
    kind: str

    @property
    def title(self) -> str:
        """What kubectl calls it: `jobs.batch`."""
        return f"{self.resource}.{self.group}" if self.group else self.resource

    @property
    def api_version(self) -> str:
        """The `apiVersion` of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self) -> str:
        """Where all its objects are."""
        root = "/apis" if self.group else "/api"
        return f"{root}/{self.api_version}/{self.resource}"


@dataclass(frozen=True, kw_only=True)
class Lister:
    """Asks one API server; whatever keeps it from an answer is a KubeError."""

    http: Client

    def groups(self) -> dict[str, list[str]]:
        """Return the versions of each API group, the server's first choice first."""
        found = {"": ["v1"]}
        for group in self._get("/apis").get("groups") or ():
            first = group["preferredVersion"]["version"]
            others = [each["version"] for each in group["versions"] if each["version"] != first]
            found[group["name"]] = [first, *others]
        return found

    def served(self, group: str, versions: list[str]) -> Iterator[Served]:
        """Yield the kinds of a group that can be listed, each in its first version."""
        seen = set()
        for version in versions:
            path = f"/apis/{group}/{version}" if group else f"/api/{version}"
            for each in self._get(path).get("resources") or ():
                name = each["name"]
                if "list" in each.get("verbs", ()) and name not in seen:
                    seen.add(name)
                    yield Served(group=group, version=version, resource=name, kind=each["kind"])

    def objects(self, kind: Served, tell: Callable[[int], None]) -> list[Object]:
        """Return all objects of a kind, none where it is gone; tells how many there are so far.

        Raises ForbiddenError where the access does not allow it.
        """
        for _ in range(TRIES):
            found: list[Object] = []
            token = ""
            while True:
                answer = self._ask(kind.path, limit=str(PAGE), **{"continue": token})
                if answer.status_code == EXPIRED:
                    break
                if answer.status_code == NOT_FOUND:
                    return []
                page = _content(answer, f"to list {kind.title}")
                found += (
                    {"apiVersion": kind.api_version, "kind": kind.kind, **each}
                    for each in page.get("items") or ()
                )
                tell(len(found))
                token = (page.get("metadata") or {}).get("continue") or ""
                if not token:
                    return found
        raise KubeError(
            f"The list of {kind.title} changed {TRIES} times while it was read: run the same "
            "command again."
        )

    def _get(self, path: str) -> dict[str, Any]:
        return _content(self._ask(path), f"to read {path}")

    def _ask(self, path: str, **query: str) -> Response:
        try:
            return self.http.get(path, params={key: said for key, said in query.items() if said})
        except HTTPError as error:
            raise KubeError(
                f"The API server {self.http.base_url} does not answer ({type(error).__name__}): "
                "look at the server of your kubeconfig's context."
            ) from None
        except (ConfigError, OSError) as error:  # of a file with a token
            raise KubeError(f"Your kubeconfig gives no access ({reason(error)}): log in.") from None


def _content(answer: Response, wanted: str) -> dict[str, Any]:
    try:
        content = answer.json()
    except ValueError:
        content = None
    if answer.is_success and isinstance(content, dict):
        return content
    raise _refused(answer, content, wanted)


def _refused(answer: Response, content: object, wanted: str) -> KubeError:
    said = content.get("message") if isinstance(content, dict) else None
    message = str(said or answer.reason_phrase)
    if answer.status_code == FORBIDDEN:
        return ForbiddenError(f"Your kubeconfig does not allow {wanted}: {message}.")
    return KubeError(
        f"The API server does not allow {wanted} ({answer.status_code}: {message}): look at the "
        "context and the login of your kubeconfig."
    )
