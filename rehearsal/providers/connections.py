"""Finds the provider instance of a call, logs the call and turns its errors into gRPC ones."""

import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc  # type: ignore[import-untyped]  # grpcio ships no types

from rehearsal.errors import RefusedError
from rehearsal.providers import answers
from rehearsal.providers.calls import CallLog
from rehearsal.providers.contract import Instance, Resource, Session, UnfinishedError

OF_THE_PROVIDER = frozenset({"CheckConfig", "DiffConfig", "Configure"})
"""Calls that have no resource; the log leaves them out unless they fail."""

ABANDONED_S = 60.0  # as long as a request to an API server may take


class Connections:
    """The engine's connections to one package, each with its configured instance.

    The engine opens one connection for each `Provider(...)` of a program.
    """

    def __init__(self, package: str, log: CallLog) -> None:
        self._package = package
        self._log = log
        self._lock = threading.Lock()
        self._configured: dict[str, tuple[Session, Instance]] = {}
        self._changed = threading.Condition()
        self._abandoned: set[Call] = set()

    def configure(self, peer: str, session: Session, instance: Instance) -> None:
        """Sends the calls from `peer` to `instance` from now on.

        Waits until the calls of an engine that was killed have ended: what it has asked for may
        still be made, and the next one must see it.
        """
        with self._changed:
            self._changed.wait_for(lambda: not self._abandoned, timeout=ABANDONED_S)
        with self._lock:
            self._configured[peer] = (session, instance)

    def cancel(self, peer: str) -> None:
        """Ends the waits of the calls from `peer`."""
        with self._lock:
            known = self._configured.get(peer)
        if known:
            known[0].cancelled.set()

    def abandon(self, call: "Call") -> None:
        """Ends the waits of a call whose caller has gone before the answer."""
        with self._changed:
            if not call.runs:
                return
            self._abandoned.add(call)
        self.cancel(call.peer)

    def end(self, call: "Call") -> None:
        """Takes note that a call has ended."""
        with self._changed:
            call.runs = False
            self._abandoned.discard(call)
            self._changed.notify_all()

    def cancel_all(self) -> None:
        """Ends all waits, because the process ends."""
        with self._lock:
            for session, _ in self._configured.values():
                session.cancelled.set()

    def instance(self, peer: str) -> Instance:
        """The instance that `peer` configured; RefusedError before that."""
        with self._lock:
            known = self._configured.get(peer)
        if known is None:
            raise RefusedError(
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
    ) -> Iterator["Call"]:
        """Logs a call and aborts it with one sentence where it raises.

        The waits of an engine that was killed end with its connection, as they do in a real
        provider, which is killed with it.
        """
        call = Call(connections=self, peer=context.peer())
        context.add_callback(lambda: self.abandon(call))
        try:
            yield call
        except RefusedError as refusal:
            call.error = refusal.summary
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(refusal))
        except UnfinishedError as unfinished:
            call.error = unfinished.summary
            details = ("grpc-status-details-bin", answers.unfinished(unfinished))
            context.set_trailing_metadata((details,))
            context.abort(grpc.StatusCode.UNKNOWN, str(unfinished))
        except Exception as fault:
            call.error = f"fault: {type(fault).__name__}"
            context.abort(grpc.StatusCode.INTERNAL, self._sentence(resource, fault))
        finally:
            self.end(call)
            if call.error or method not in OF_THE_PROVIDER:
                self._log.write(self._package, method, resource, preview=preview, error=call.error)

    def _sentence(self, resource: Resource, fault: Exception) -> str:
        # The fault's own text may quote a secret, so the sentence has only its type and place.
        frame = traceback.extract_tb(fault.__traceback__)[-1]
        place = f"{Path(frame.filename).name}:{frame.lineno}"
        return (
            f"The rehearsal's {self._package} provider failed on {resource.name} "
            f"({resource.type}): {type(fault).__name__} at {place}."
        )


@dataclass(kw_only=True, eq=False)
class Call:
    """One running call; `error` is what the log will show."""

    connections: Connections
    peer: str
    error: str | None = None
    runs: bool = True

    @property
    def instance(self) -> Instance:
        """The instance that answers the call."""
        return self.connections.instance(self.peer)
