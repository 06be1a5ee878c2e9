"""Gives the machines that Karpenter launches a bootstrap token, a new one every few hours.

Each pool of them reads its join part from one object in a private bucket. What was last written is
in a Lease: its renewTime, from which an alert follows, and the ids of the tokens that count.
"""

import base64
import json
import secrets
import string
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from workloads.api_server import ApiServer, ApiServerError
from workloads.controllers.join_tokens.s3 import AccessKey, put
from workloads.controllers.join_tokens.used import SECRETS

LIFE = timedelta(hours=4)
EVERY = timedelta(hours=2)
"""A machine that reads the object just before the next token has half of the life left to join."""
SAMPLE = "000000.0000000000000000"
"""The token in a pool's template."""
JOINERS = "system:bootstrappers:kubeadm:default-node-token"
IDS, TEMPLATE = "fleet.gpu/token-ids", "fleet.gpu/template"
HOLDER = "fleet-join-tokens"
_LETTERS = string.ascii_lowercase + string.digits


@dataclass(frozen=True, kw_only=True)
class BurstPool:
    """A pool; `template` is its join part, in Ignition, with the token SAMPLE.

    Machines read it from `source`, s3://<bucket>/<key>; `url` is where it is written.
    """

    name: str
    source: str
    url: str
    region: str
    template: str
    digest: str
    """Of `template` and `url`: others want another object."""


@dataclass(frozen=True, kw_only=True)
class Writer:
    """What renews the tokens of pools; Leases are in `namespace`."""

    api: ApiServer
    namespace: str
    key: AccessKey

    def renew(self, pool: BurstPool, now: datetime) -> str | None:
        """Write a new token for a pool where it is time; return a sentence, None before.

        Raises ApiServerError or S3Error; then the Lease says nothing new and the next try follows.
        """
        lease = self._lease(pool)
        if lease is not None and not _due(lease, pool, now):
            return None
        end = now + LIFE
        token = f"{_pick(6)}.{_pick(16)}"
        self.api.request("POST", SECRETS, _secret(token, pool.name, end))
        put(pool.url, pool.region, filled(pool.template, token), self.key, now)
        self._record(pool, lease, token, now)
        return f"Pool {pool.name}: machines join with token {token[:6]} until {_time(end)}."

    def ids(self, pool: BurstPool) -> tuple[str, ...]:
        """Return the ids of the last tokens of a pool."""
        lease = self._lease(pool)
        return _ids(lease) if lease else ()

    def _path(self) -> str:
        return _leases(self.namespace)

    def _lease(self, pool: BurstPool) -> Mapping[str, Any] | None:
        try:
            return self.api.request("GET", f"{self._path()}/{pool.name}")
        except ApiServerError as error:
            if error.status == 404:
                return None
            raise

    def _record(
        self, pool: BurstPool, before: Mapping[str, Any] | None, token: str, now: datetime
    ) -> None:
        ids = (token[:6], *(_ids(before) if before else ()))[: 1 + LIFE // EVERY]
        metadata: dict[str, Any] = {
            "name": pool.name,
            "annotations": {IDS: ",".join(ids), TEMPLATE: pool.digest},
        }
        if before is not None:
            metadata["resourceVersion"] = before["metadata"]["resourceVersion"]
        body = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": metadata,
            "spec": {
                "holderIdentity": HOLDER,
                "leaseDurationSeconds": int(LIFE.total_seconds()),
                "renewTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            },
        }
        if before is None:
            self.api.request("POST", self._path(), body)
        else:
            self.api.request("PUT", f"{self._path()}/{pool.name}", body)


def forget(api: ApiServer, namespace: str, pools: Collection[str]) -> list[str]:
    """Delete the Leases of all pools but `pools`; return a sentence for each.

    The alert on tokens that are late would else name a pool that has gone, for ever.
    """
    done = []
    for lease in api.request("GET", _leases(namespace)).get("items") or ():
        name, holder = lease["metadata"]["name"], (lease.get("spec") or {}).get("holderIdentity")
        if holder == HOLDER and name not in pools:
            api.request("DELETE", f"{_leases(namespace)}/{name}")
            done.append(f"Pool {name} is no more, and gets no token.")
    return done


def filled(template: str, token: str) -> bytes:
    """Return the join part with `token` in place of SAMPLE; the file is in a base64 data URL."""
    config = json.loads(template)
    replaced = 0
    for file in config["storage"]["files"]:
        start, _, encoded = file["contents"]["source"].partition(";base64,")
        text = base64.b64decode(encoded)
        replaced += text.count(SAMPLE.encode())
        text = text.replace(SAMPLE.encode(), token.encode())
        file["contents"]["source"] = f"{start};base64,{base64.b64encode(text).decode()}"
    if replaced != 1:
        raise ValueError(
            f"the template has the sample token {replaced} times; it must have it once"
        )
    return json.dumps(config, separators=(",", ":")).encode()


def _leases(namespace: str) -> str:
    return f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"


def _due(lease: Mapping[str, Any], pool: BurstPool, now: datetime) -> bool:
    written = (lease.get("spec") or {}).get("renewTime")
    known = (lease["metadata"].get("annotations") or {}).get(TEMPLATE)
    if written is None or known != pool.digest:
        return True
    return now - datetime.fromisoformat(written) >= EVERY


def _ids(lease: Mapping[str, Any]) -> tuple[str, ...]:
    found = (lease["metadata"].get("annotations") or {}).get(IDS, "")
    return tuple(each for each in found.split(",") if each)


def _secret(token: str, pool: str, end: datetime) -> dict[str, Any]:
    token_id, _, secret = token.partition(".")
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "bootstrap.kubernetes.io/token",
        "metadata": {"name": f"bootstrap-token-{token_id}", "namespace": "kube-system"},
        "stringData": {
            "token-id": token_id,
            "token-secret": secret,
            "expiration": _time(end),
            "usage-bootstrap-authentication": "true",
            "usage-bootstrap-signing": "true",
            "auth-extra-groups": JOINERS,
            "description": f"gpu-fleet: burst machines of pool {pool} join",
        },
    }


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _pick(length: int) -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(length))
