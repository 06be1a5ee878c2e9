"""The client of a Kubernetes API server, for the rehearsal and for its `kubernetes` provider."""

import json
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from rehearsal.errors import RefusedError

FIELD_MANAGER = "gpu-fleet-rehearsal"
STRICT = {"fieldValidation": "Strict"}
DRY_RUN = {"dryRun": "All"}
TIMEOUT_S = 60.0  # admission webhooks may take half a minute
READY_TIMEOUT_S = 2.0
PARALLEL = 64
OVERLOAD_TRIES = 5


class ApiServerError(RefusedError):
    """The API server answers with an error; the text is its message, `status` its HTTP code."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message, summary=f"{status} {reason}")
        self.status = status
        self.exists = reason == "AlreadyExists"


@dataclass(frozen=True)
class Api:
    """A client of one API server, safe to use from several threads. Paths start with /api(s).

    A request raises ApiServerError where the server refuses it, RefusedError where no server
    answers or where `cancelled` is set during a wait.
    """

    client: httpx.Client = field(repr=False)
    cancelled: threading.Event = field(default_factory=threading.Event, repr=False)

    @classmethod
    def connect(
        cls,
        server: str,
        trust: ssl.SSLContext,
        *,
        headers: Mapping[str, str] | None = None,
        cancelled: threading.Event | None = None,
    ) -> "Api":
        """The client of the API server at the URL `server`."""
        client = httpx.Client(
            base_url=server,
            verify=trust,
            headers=headers,
            timeout=TIMEOUT_S,
            limits=httpx.Limits(max_connections=PARALLEL, max_keepalive_connections=PARALLEL),
            trust_env=False,
        )
        return cls(client, cancelled or threading.Event())

    @property
    def server(self) -> str:
        """The URL of the server."""
        return str(self.client.base_url).rstrip("/")

    def close(self) -> None:
        """Closes the connections; the cluster stays."""
        self.client.close()

    def ready(self) -> str | None:
        """None when the server (or an etcd) is ready, else what it waits for."""
        try:
            response = self.client.get("/readyz", timeout=READY_TIMEOUT_S)
        except httpx.HTTPError as error:
            return str(error) or type(error).__name__
        return None if response.status_code == httpx.codes.OK else response.text.strip()

    def get(self, path: str, **query: str) -> dict[str, Any] | None:
        """The object or list at `path`; None where there is none."""
        return self._unless(httpx.codes.NOT_FOUND, "GET", path, query=query)

    def items(self, path: str, **query: str) -> list[dict[str, Any]]:
        """The objects of the list at `path`; empty where the kind does not exist."""
        found = self.get(path, **query)
        return list(found["items"]) if found else []

    def create(self, path: str, body: Mapping[str, object]) -> bool:
        """Creates an object in the collection `path`; False where one has its name already."""
        return self._unless(httpx.codes.CONFLICT, "POST", path, body) is not None

    def post(
        self, path: str, body: Mapping[str, object], *, manager: str, dry_run: bool = False
    ) -> dict[str, Any]:
        """Creates an object in the collection `path` as a field manager, and returns it.

        As below, a field that the schema lacks is an error.
        """
        query = {"fieldManager": manager, **STRICT, **(DRY_RUN if dry_run else {})}
        return self.request("POST", path, body, query=query)

    def apply(
        self,
        path: str,
        body: Mapping[str, object],
        *,
        manager: str = FIELD_MANAGER,
        force: bool = False,
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Applies the object at `path` on the server and returns it.

        A field that the schema lacks is an error. (The real `kubernetes` provider creates with a
        warning, and the server drops the field.)
        """
        query = {
            "fieldManager": manager,
            "force": "true" if force else "false",
            **STRICT,
            **(DRY_RUN if dry_run else {}),
        }
        headers = {"Content-Type": "application/apply-patch+yaml"}
        return self.request("PATCH", path, body, query=query, headers=headers)

    def delete(self, path: str, *, dependents: str = "Foreground") -> dict[str, Any] | None:
        """Deletes an object, its dependents first; None where it is gone already.

        With "Background" for `dependents` it is gone at once.
        """
        body = {"propagationPolicy": dependents}
        return self._unless(httpx.codes.NOT_FOUND, "DELETE", path, body)

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Sends one request and returns the answer; tries again where the server is overloaded."""
        content = None if body is None else json.dumps(body)
        for _ in range(OVERLOAD_TRIES):
            try:
                response = self.client.request(
                    method,
                    path,
                    params=query or None,  # an empty one would delete the query in `path`
                    content=content,
                    headers={"Content-Type": "application/json", **(headers or {})},
                )
            except httpx.TransportError as error:
                raise RefusedError(
                    f"The API server {self.server} cannot be reached: {type(error).__name__}.",
                    summary="unreachable",
                ) from None
            if response.status_code != httpx.codes.TOO_MANY_REQUESTS:
                break
            self.pause(float(response.headers.get("Retry-After", "1")))
        return _answer(response)

    def pause(self, seconds: float) -> None:
        """Waits; raises RefusedError when the engine asks to stop."""
        if self.cancelled.wait(seconds):
            raise RefusedError("Cancelled while waiting for the API server.", summary="cancelled")

    def _unless(
        self,
        status: int,
        method: str,
        path: str,
        body: object = None,
        query: Mapping[str, str] | None = None,
    ) -> dict[str, Any] | None:
        """The answer to a request; None where the server answers with the code `status`."""
        try:
            return self.request(method, path, body, query=query)
        except ApiServerError as error:
            if error.status == status:
                return None
            raise


def _answer(response: httpx.Response) -> dict[str, Any]:
    try:
        body = response.json()
    except ValueError:
        body = {}
    answer = body if isinstance(body, dict) else {}
    if response.is_success:
        return answer
    raise ApiServerError(
        response.status_code,
        str(answer.get("reason") or response.reason_phrase),
        str(answer.get("message") or response.text[:200] or response.reason_phrase),
    )
