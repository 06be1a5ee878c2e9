"""Which provider instance a call is for, and what becomes of a call that goes wrong."""

from __future__ import annotations

import threading
import traceback
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import grpc  # type: ignore[import-untyped]  # grpcio ships no types

from rehearsal.providers import answers
from rehearsal.providers.contract import Instance, Refusal, Resource, Session, Unfinished

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rehearsal.providers.calls import CallLog


OF_THE_PROVIDER = frozenset({"CheckConfig", "DiffConfig", "Configure"})
"""Calls about no resource, which the log leaves out unless they fail."""


class Connections:
    """The engine's connections to one package, each with the instance it was configured for.

    The engine opens one connection for each `Provider(...)` of a program.
    """

    def __init__(self, package: str, log: CallLog) -> None:
        self._package = package
        self._log = log
        self._lock = threading.Lock()
        self._configured: dict[str, tuple[Session, Instance]] = {}

    def configure(self, peer: str, session: Session, instance: Instance) -> None:
        """From now on, calls from `peer` are for `instance`."""
        with self._lock:
            self._configured[peer] = (session, instance)

    def cancel(self, peer: str) -> None:
        """Makes whoever waits on behalf of `peer` give up."""
        with self._lock:
            known = self._configured.get(peer)
        if known:
            known[0].cancelled.set()

    def cancel_all(self) -> None:
        """Makes whoever waits give up: the process ends."""
        with self._lock:
            for session, _ in self._configured.values():
                session.cancelled.set()

    def instance(self, peer: str) -> Instance:
        """The instance that `peer` was configured for."""
        with self._lock:
            known = self._configured.get(peer)
        if known is None:
            raise Refusal(
                f"The {self._package} provider was called before it was configured.",
                summary="not configured",
            )
        return known[1]

    @contextmanager
    def call(
        self,
        method: str,
        resource: Resource,
        context: grpc.ServicerContext,
        *,
        preview: bool | None = None,
    ) -> Iterator[Call]:
        """Notes a call about a resource, and turns what goes wrong in it into one sentence."""
        call = Call(connections=self, peer=context.peer())
        try:
            yield call
        except Refusal as refusal:
            call.error = refusal.summary
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(refusal))
        except Unfinished as unfinished:
            call.error = unfinished.summary
            details = ("grpc-status-details-bin", answers.unfinished(unfinished))
            context.set_trailing_metadata((details,))
            context.abort(grpc.StatusCode.UNKNOWN, str(unfinished))
        except Exception as fault:
            call.error = f"fault: {type(fault).__name__}"
            context.abort(grpc.StatusCode.INTERNAL, self._sentence(resource, fault))
        finally:
            if call.error or method not in OF_THE_PROVIDER:
                self._log.write(self._package, method, resource, preview=preview, error=call.error)

    def _sentence(self, resource: Resource, fault: Exception) -> str:
        # The fault's own text may quote a secret, so only its kind and place are told.
        frame = traceback.extract_tb(fault.__traceback__)[-1]
        place = f"{Path(frame.filename).name}:{frame.lineno}"
        return (
            f"The rehearsal's {self._package} provider failed on {resource.name} "
            f"({resource.type}): {type(fault).__name__} at {place}."
        )


@dataclass(kw_only=True)
class Call:
    """One call under way; `error` is what the log will say of it."""

    connections: Connections
    peer: str
    error: str | None = None

    @property
    def instance(self) -> Instance:
        """The instance that the call is for."""
        return self.connections.instance(self.peer)
