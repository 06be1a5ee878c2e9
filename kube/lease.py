"""Leases, by which one program at a time does something in a cluster.

A program that is killed keeps nobody waiting: its Lease is taken over as soon as nobody has renewed
it for LIFE_S. That is seen by watching it, as client-go's leader election does, so that the clocks
of two machines need not agree.
"""

import getpass
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from httpx2 import HTTPError
from lightkube import Client
from lightkube.core.exceptions import ApiError, ConfigError
from lightkube.models.coordination_v1 import LeaseSpec
from lightkube.models.meta_v1 import ObjectMeta

from kube.client import KubeError
from kube.kinds import Lease
from kube.nodes import NOT_FOUND
from kube.waiting import Say

LIFE_S = 60.0
RENEW_S = 8.0
LOOK_S = 1.0
CONFLICT = 409
AWAY = (ApiError, HTTPError, KubeError, ConfigError, OSError)
"""What a request may raise while the API server, or the login that it needs, is away."""


@dataclass(kw_only=True)
class Held:
    """A Lease that this program holds, until somebody takes it over."""

    client: Client
    namespace: str
    name: str
    holder: str
    _ended: threading.Event = field(default_factory=threading.Event)

    def check(self) -> None:
        """Raise KubeError where another program has taken the Lease meanwhile."""
        lease = _find(self.client, self.namespace, self.name)
        other = _holder(lease) if lease else None
        if other != self.holder:
            raise KubeError(
                f"{other or 'Somebody'} has gone on in place of this run, which had not reached "
                f"the API server for {LIFE_S:.0f} s: nothing more is done here."
            )

    def renew(self) -> None:
        """Renew the Lease until the end; an API server that is away for a moment is no matter."""
        while not self._ended.wait(RENEW_S):
            try:
                lease = self.client.get(Lease, self.name, namespace=self.namespace)
                if _holder(lease) != self.holder:
                    return
                _write(self.client, lease, self.holder)
            except AWAY:
                continue

    def end(self) -> None:
        """Renew it no more."""
        self._ended.set()


@contextmanager
def held(client: Client, namespace: str, name: str, *, busy: str, tell: Say) -> Iterator[Held]:
    """Hold a Lease for the block; raises KubeError with `busy` where another program holds it."""
    mine = f"{_user()}@{socket.gethostname()} (process {os.getpid()})"
    if other := holder(client, namespace, name, tell=tell):
        raise KubeError(f"{busy}: {other} does.")
    try:
        _write(client, _find(client, namespace, name) or _new(namespace, name), mine)
    except ApiError as error:
        if error.status.code != CONFLICT:
            raise
        raise KubeError(f"{busy}: somebody was quicker.") from None
    found = Held(client=client, namespace=namespace, name=name, holder=mine)
    thread = threading.Thread(target=found.renew, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        found.end()
        thread.join()
        _give_back(found)


def _user() -> str:
    """Return the user's name, or the number where it has no name, as in a container."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def holder(client: Client, namespace: str, name: str, *, tell: Say) -> str | None:
    """Return who holds a Lease; None where nobody does, or nobody renews it any more."""
    first = _find(client, namespace, name)
    if first is None or not _holder(first):
        return None
    tell(f"{_holder(first)} holds the Lease {namespace}/{name}; seeing whether it is still at work")
    until = time.monotonic() + LIFE_S
    while time.monotonic() < until:
        time.sleep(LOOK_S)
        lease = _find(client, namespace, name)
        if lease is None or not _holder(lease):
            return None
        if _version(lease) != _version(first):
            return _holder(lease)
    return None


def _give_back(found: Held) -> None:
    try:
        lease = _find(found.client, found.namespace, found.name)
        if lease is not None and _holder(lease) == found.holder:
            _write(found.client, lease, None)
    except (ApiError, HTTPError):
        return  # it ends by itself


def _find(client: Client, namespace: str, name: str) -> Lease | None:
    try:
        return client.get(Lease, name, namespace=namespace)
    except ApiError as error:
        if error.status.code == NOT_FOUND:
            return None
        raise


def _new(namespace: str, name: str) -> Lease:
    return Lease(metadata=ObjectMeta(name=name, namespace=namespace))


def _write(client: Client, lease: Lease, mine: str | None) -> None:
    """Write the Lease as it was read: the API server refuses it where another was quicker."""
    lease.spec = LeaseSpec(
        holderIdentity=mine, leaseDurationSeconds=int(LIFE_S), renewTime=datetime.now(UTC)
    )
    if _version(lease):
        client.replace(lease)
    else:
        client.create(lease)


def _holder(lease: Lease) -> str | None:
    return lease.spec.holderIdentity if lease.spec else None


def _version(lease: Lease) -> str | None:
    return lease.metadata.resourceVersion if lease.metadata else None
