"""The rehearsal's own door to its API server: JSON over TLS, errors as the server words them."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any

import httpx

from rehearsal.errors import RehearsalError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rehearsal.certificates import Certificates

FIELD_MANAGER = "gpu-fleet-rehearsal"
TIMEOUT_S = 30.0


class ApiError(RehearsalError):
    """The API server refused a request; `status` is its HTTP code."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Api:
    """Requests as the administrator. Paths start with /api or /apis."""

    def __init__(self, server: str, certificates: Certificates) -> None:
        context = ssl.create_default_context(cafile=str(certificates.authority))
        context.load_cert_chain(certificates.admin.certificate, certificates.admin.key)
        self.server = server
        self._client = httpx.Client(
            base_url=server, verify=context, timeout=TIMEOUT_S, trust_env=False
        )

    def close(self) -> None:
        """Closes the connections; the cluster stays."""
        self._client.close()

    def ready(self) -> str | None:
        """None when the server, or an etcd in its place, is ready; else what it waits for."""
        try:
            response = self._client.get("/readyz", timeout=2)
        except httpx.HTTPError as error:
            return str(error) or type(error).__name__
        return None if response.status_code == httpx.codes.OK else response.text.strip()

    def get(self, path: str, **query: str) -> dict[str, Any] | None:
        """The object or list at `path`, or None where there is none (yet)."""
        try:
            return self._request("GET", path, params=query)
        except ApiError as error:
            if error.status == httpx.codes.NOT_FOUND:
                return None
            raise

    def items(self, path: str, **query: str) -> list[dict[str, Any]]:
        """The objects of the list at `path`; none where the kind does not exist."""
        found = self.get(path, **query)
        return list(found["items"]) if found else []

    def create(self, path: str, body: Mapping[str, object]) -> bool:
        """Creates an object in the collection `path`; False when there is one of its name."""
        try:
            self._request("POST", path, json=body)
        except ApiError as error:
            if error.status == httpx.codes.CONFLICT:
                return False
            raise
        return True

    def apply(self, path: str, body: Mapping[str, object]) -> dict[str, Any]:
        """Server-side apply of the object at `path`."""
        return self._request(
            "PATCH",
            path,
            json=body,
            params={"fieldManager": FIELD_MANAGER, "force": "true"},
            headers={"Content-Type": "application/apply-patch+yaml"},
        )

    def _request(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        try:
            response = self._client.request(method, path, **options)
        except httpx.HTTPError as error:
            raise ApiError(
                0, f"The API server at {self.server} does not answer: {error}"
            ) from error
        body = response.json() if response.content else {}
        if response.is_error:
            raise ApiError(response.status_code, body.get("message", response.reason_phrase))
        return dict(body)
