"""Reads a kubeconfig, given as contents or as a path: the API server and the credentials."""

import base64
import binascii
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from rehearsal.errors import RefusedError


@dataclass(frozen=True, kw_only=True)
class ClusterAccess:
    """An API server and how to log in; `namespace` is the context's, else `default`."""

    server: str
    namespace: str
    trust: ssl.SSLContext = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)


def cluster(text: str, *, context: str | None = None, name: str | None = None) -> ClusterAccess:
    """The cluster called `name`, else that of `context`, else that of the current context."""
    document = _document(text)
    current, chosen, place = _active(document, context, name)
    user = _named(document, "users", "user", str(chosen.get("user")))
    server = place.get("server")
    if not isinstance(server, str) or not server.startswith(("https://", "http://")):
        raise _wrong(f"the cluster of context {current} has no server URL")
    return ClusterAccess(
        server=server.rstrip("/"),
        namespace=str(chosen.get("namespace") or "default"),
        trust=_trust(place, user),
        headers=_headers(user),
    )


def active_cluster(
    text: str, *, context: str | None = None, name: str | None = None
) -> dict[str, object] | None:
    """The cluster's entry: server, CA, proxy and so on; None where the kubeconfig has none."""
    try:
        return _active(_document(text), context, name)[2]
    except RefusedError:
        return None


def _active(
    document: dict[str, object], context: str | None, name: str | None
) -> tuple[str, dict[str, object], dict[str, object]]:
    """The name of the context, its entry and that of its cluster."""
    current = context or document.get("current-context")
    if not isinstance(current, str) or not current:
        raise _wrong("it has no current-context, and the provider names no context")
    chosen = _named(document, "contexts", "context", current)
    return (
        current,
        chosen,
        _named(document, "clusters", "cluster", name or str(chosen.get("cluster"))),
    )


def _document(text: str) -> dict[str, object]:
    # Contents are a mapping and so hold a colon and a line break or a brace; a path does not.
    contents = text
    if "\n" not in text and not text.lstrip().startswith("{"):
        path = Path(text).expanduser()
        if not path.is_file():
            raise _wrong("it is neither the contents of a kubeconfig nor the path of one")
        contents = path.read_text(encoding="utf-8")
    try:
        document = yaml.safe_load(contents)
    except yaml.YAMLError:
        raise _wrong("it is not YAML") from None
    if not isinstance(document, dict):
        raise _wrong("it is not a mapping")
    return document


def _named(document: dict[str, object], listed: str, key: str, name: str) -> dict[str, object]:
    entries = document.get(listed)
    for entry in entries if isinstance(entries, list) else []:
        match entry:
            case {"name": found} if found == name:
                value = entry.get(key)
                return value if isinstance(value, dict) else {}
    raise _wrong(f'it has no {key} "{name}" among its {listed}')


def _trust(place: dict[str, object], user: dict[str, object]) -> ssl.SSLContext:
    trust = ssl.create_default_context()
    try:
        if place.get("insecure-skip-tls-verify") is True:
            trust.check_hostname = False
            trust.verify_mode = ssl.CERT_NONE
        elif authority := _data(place, "certificate-authority"):
            trust.load_verify_locations(cadata=authority.decode())
        certificate, key = _data(user, "client-certificate"), _data(user, "client-key")
        if certificate and key:
            _load_chain(trust, certificate, key)
    except (ssl.SSLError, binascii.Error, OSError):
        raise _wrong("a certificate or key in it cannot be read") from None
    return trust


def _load_chain(trust: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    # OpenSSL reads a key from a file alone; mkstemp's is for its owner and gone right after.
    with tempfile.NamedTemporaryFile() as file:
        file.write(certificate + b"\n" + key)
        file.flush()
        trust.load_cert_chain(file.name)


def _data(entry: dict[str, object], key: str) -> bytes | None:
    encoded, path = entry.get(f"{key}-data"), entry.get(key)
    if isinstance(encoded, str):
        return base64.b64decode(encoded)
    return Path(path).expanduser().read_bytes() if isinstance(path, str) else None


def _headers(user: dict[str, object]) -> dict[str, str]:
    for kind in ("exec", "auth-provider"):
        if kind in user:
            raise _wrong(f"its user logs in by {kind}; allowed are a client certificate or a token")
    token = user.get("token")
    return {"Authorization": f"Bearer {token}"} if isinstance(token, str) else {}


def _wrong(reason: str) -> RefusedError:
    return RefusedError(f"The kubeconfig of the kubernetes provider cannot be used: {reason}.")
