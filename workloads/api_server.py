"""The API server as a pod reaches it, by its own token; Python's standard library alone."""

import http.client
import json
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_TIMEOUT_S = 30


class ApiServerError(RuntimeError):
    """A request that the API server refused or, with status 0, did not answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, kw_only=True)
class ApiServer:
    """One API server; the token is read at each request, for it is renewed."""

    host: str
    port: int
    account: Path = ACCOUNT

    def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        kind: str = "application/json",
    ) -> Mapping[str, Any]:
        """Return the object in the answer; raise ApiServerError for any but 2xx."""
        trust = ssl.create_default_context(cafile=str(self.account / "ca.crt"))
        token = (self.account / "token").read_text(encoding="utf-8").strip()
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = kind
        server = http.client.HTTPSConnection(
            self.host, self.port, context=trust, timeout=_TIMEOUT_S
        )
        try:
            server.request(method, path, None if body is None else json.dumps(body), headers)
            answer = server.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise ApiServerError(0, f"{method} {path}: {error}") from error
        finally:
            server.close()
        found: Mapping[str, Any] = _object(text)
        if answer.status // 100 != 2:
            said = found.get("message") or answer.reason
            raise ApiServerError(answer.status, f"{method} {path}: {answer.status} {said}")
        return found


def of_pod() -> ApiServer:
    """Return the API server by the environment that the kubelet gives every pod."""
    host = os.environ.get("KUBERNETES_SERVICE_HOST", "kubernetes.default.svc")
    return ApiServer(host=host, port=int(os.environ.get("KUBERNETES_SERVICE_PORT", "443")))


def _object(text: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
