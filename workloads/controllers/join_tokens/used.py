"""Deletes the bootstrap token of each machine that has joined.

A kubelet that joins asks for its certificate by a CertificateSigningRequest as the user
`system:bootstrap:<token id>`; from its certificate on it needs the token no more. So the requests
say which tokens were used, and nobody must read a Secret to know it. Requests are there for an
hour after they were granted (kube-controller-manager, csrcleaner); then the token's end counts.
"""

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from workloads.api_server import ApiServer, ApiServerError

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
SECRETS = "/api/v1/namespaces/kube-system/secrets"
USER = "system:bootstrap:"
SIGNER = "kubernetes.io/kube-apiserver-client-kubelet"
_NODE = b"system:node:"


def delete_used(api: ApiServer, *, shared: frozenset[str]) -> list[str]:
    """Delete the tokens whose machine is a Ready node; return a sentence for each.

    `shared` are the ids of the tokens of burst machines, with which others may join still.
    """
    done = []
    for token_id, node in sorted(set(_granted(api.request("GET", REQUESTS)))):
        if token_id in shared or not _ready(api, node):
            continue
        try:
            api.request("DELETE", f"{SECRETS}/bootstrap-token-{token_id}")
        except ApiServerError as error:
            if error.status != 404:
                raise
        else:
            done.append(f"Node {node} has joined, so its token {token_id} is deleted.")
    return done


def _granted(requests: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield token id and node of each kubelet's request that has got its certificate."""
    for each in requests.get("items") or ():
        spec, status = each["spec"], each.get("status") or {}
        user = spec.get("username", "")
        if user.startswith(USER) and spec.get("signerName") == SIGNER and status.get("certificate"):
            name = node_name(spec["request"])
            if name:
                yield user.removeprefix(USER), name


def node_name(request: str) -> str | None:
    """Return the node in the subject of a request, its PEM text in base64; None without one.

    The common name is a DER string: the byte before it is its length, which is under 128.
    """
    pem = base64.b64decode(request).decode()
    body = "".join(line for line in pem.splitlines() if not line.startswith("-----"))
    der = base64.b64decode(body)
    start = der.find(_NODE)
    if start < 1:
        return None
    return der[start : start + der[start - 1]].removeprefix(_NODE).decode()


def _ready(api: ApiServer, name: str) -> bool:
    try:
        node = api.request("GET", f"/api/v1/nodes/{name}")
    except ApiServerError as error:
        if error.status == 404:
            return False
        raise
    conditions = node.get("status", {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
