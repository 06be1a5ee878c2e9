"""HTTP to an API server: the few requests that a provider makes of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, cast

import httpx

from rehearsal.providers.contract import Refusal

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping

    from rehearsal.providers.kubernetes.kubeconfig import Cluster
    from rehearsal.providers.values import Value

Json: TypeAlias = "dict[str, Value]"

# Admission webhooks may take half a minute.
TIMEOUT_S = 60.0
PARALLEL = 64
OVERLOAD_TRIES = 5


class ApiError(Refusal):
    """The API server refuses; the text is its own message."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message, summary=f"{status} {reason}")
        self.status = status


@dataclass(frozen=True)
class Api:
    """A client of one API server, safe to use from several threads."""

    client: httpx.Client = field(repr=False)
    cancelled: threading.Event = field(repr=False)

    @classmethod
    def of(cls, cluster: Cluster, cancelled: threading.Event) -> Api:
        """The client for a cluster; it gives up waiting when `cancelled` is set."""
        client = httpx.Client(
            base_url=cluster.server,
            verify=cluster.trust,
            headers={**cluster.headers, "User-Agent": "pulumi-kubernetes"},
            timeout=TIMEOUT_S,
            limits=httpx.Limits(max_connections=PARALLEL, max_keepalive_connections=PARALLEL),
            trust_env=False,
        )
        return cls(client, cancelled)

    def get(self, path: str) -> Json | None:
        """What is at a path; None where nothing is."""
        try:
            return self._request("GET", path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def apply(
        self, path: str, body: Json, *, manager: str, force: bool = False, dry_run: bool = False
    ) -> Json:
        """Applies on the server. A field that the schema lacks is an error; the real provider
        creates with a warning and lets it be dropped.
        """
        parameters = {
            "fieldManager": manager,
            "force": "true" if force else "false",
            "fieldValidation": "Strict",
        }
        if dry_run:
            parameters["dryRun"] = "All"
        content = json.dumps(body)
        return self._request("PATCH", path, parameters=parameters, content=content)

    def delete(self, path: str) -> Json | None:
        """Deletes, what depends on the object first. None where it is gone already."""
        content = json.dumps({"propagationPolicy": "Foreground"})
        try:
            return self._request("DELETE", path, content=content)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def _request(
        self,
        method: str,
        path: str,
        *,
        parameters: Mapping[str, str] | None = None,
        content: str | None = None,
    ) -> Json:
        kind = "apply-patch+yaml" if method == "PATCH" else "json"
        headers = {"Content-Type": f"application/{kind}"} if content is not None else {}
        for _ in range(OVERLOAD_TRIES):
            try:
                response = self.client.request(
                    method, path, params=parameters, content=content, headers=headers
                )
            except httpx.TransportError as error:
                raise Refusal(
                    f"The API server {self.client.base_url} cannot be reached: "
                    f"{type(error).__name__}.",
                    summary="unreachable",
                ) from None
            if response.status_code != httpx.codes.TOO_MANY_REQUESTS:
                break
            self.pause(float(response.headers.get("Retry-After", "1")))
        return _answer(response)

    def pause(self, seconds: float) -> None:
        """Waits; refuses when the engine has asked to stop."""
        if self.cancelled.wait(seconds):
            raise Refusal("Cancelled while waiting for the API server.", summary="cancelled")


def _answer(response: httpx.Response) -> Json:
    try:
        body = response.json()
    except ValueError:
        body = {}
    answer = cast("Json", body if isinstance(body, dict) else {})
    if response.is_success:
        return answer
    raise ApiError(
        response.status_code,
        str(answer.get("reason") or response.reason_phrase),
        str(answer.get("message") or response.text[:200] or response.reason_phrase),
    )
