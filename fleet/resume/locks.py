"""Who has the lock of a stack, and whether it may be opened.

The engine writes its process, user, machine and the time into a lock when it takes it, and never
again (newLockContent in pkg/backend/diy/lock.go of pulumi v3.220.0). Nobody renews it, so a lock
alone does not say that its update has ended:

- One of this machine is held as long as its process runs. That is a `pulumi` that began before the
  lock: a pid is given anew, and after a restart of the machine from the beginning.
- One of another machine cannot be asked. A person sees holder and age and is asked. Where nobody is
  asked, it stays closed until neither it nor the state was written for `SILENT_S`: a running update
  writes the state when a step begins and when it ends.
"""

import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import psutil

from kube.waiting import duration

ENGINE = "pulumi"
SILENT_S = 1800.0
"""How long an update writes nothing at most: the charts wait for 20 minutes, the longest of all
steps but those that wait for machines which a person installs."""
START_TOLERANCE_S = 2.0  # a lock tells whole seconds, and the wall clock is nudged
HOLDER = re.compile(
    r"created by (?P<user>.+)@(?P<host>\S+) \(pid (?P<process>\d+)\) at (?P<since>\S+)"
)
"""What the engine says of a lock in a bucket or folder (checkForLock in the same file)."""
AT_CLOUD = re.compile(r"Started: (?P<ago>.+)\s+Requested By: (?P<user>.+)")
"""What it says of an update through Pulumi Cloud (pkg/cmd/pulumi/stack/stack.go)."""


@dataclass(frozen=True, kw_only=True)
class Lock:
    """A lock of a stack; of one in Pulumi Cloud only `who` is known."""

    who: str = field(compare=False)
    host: str | None = None
    process: int | None = None
    since: datetime | None = None

    def told(self, now: datetime) -> str:
        """Return a sentence with holder and age."""
        if self.since is None:
            return f"Locked by {self.who}."
        ago = duration(max(0.0, (now - self.since).total_seconds()))
        ended = ", and has ended" if self.host == socket.gethostname() else ""
        return (
            f"Locked by {self.who}, process {self.process}, since "
            f"{self.since:%Y-%m-%d %H:%M} UTC, {ago} ago{ended}."
        )

    def held_here(self) -> bool:
        """Return whether its process runs on this machine."""
        if self.host != socket.gethostname() or not (self.process and self.since):
            return False
        try:
            process = psutil.Process(self.process)
            if process.name() != ENGINE or process.status() == psutil.STATUS_ZOMBIE:
                return False
            return process.create_time() <= self.since.timestamp() + START_TOLERANCE_S
        except psutil.NoSuchProcess:
            return False
        except psutil.AccessDenied:  # of another user
            return True

    def openable_from(self, written: datetime, silent_s: float) -> datetime | None:
        """Return when it may be opened without a question; None where its process has ended.

        The state was last `written` then, and may be silent for `silent_s`.
        """
        if self.host == socket.gethostname():
            return None
        return max(written, self.since or written) + timedelta(seconds=silent_s)


def locks_in(words: str) -> tuple[Lock, ...]:
    """Return the locks that the engine tells of."""
    found = [
        Lock(
            who=f"{each['user']}@{each['host']}",
            host=each["host"],
            process=int(each["process"]),
            since=datetime.fromisoformat(each["since"]).astimezone(UTC),
        )
        for each in HOLDER.finditer(words)
    ]
    if found:
        return tuple(found)
    cloud = AT_CLOUD.search(words)
    who = f"{cloud['user'].strip()}, {cloud['ago'].strip()}" if cloud else "another update"
    return (Lock(who=who),)


def running(locks: Sequence[Lock]) -> Lock | None:
    """Return the lock whose process runs on this machine, where there is one."""
    return next((each for each in locks if each.held_here()), None)


def silent_s(state: Mapping[str, Any]) -> float:
    """Return how long an update with these pending steps writes nothing at most.

    A step that waits says for how long: one that ends rented machines waits for their jobs.
    """
    steps = (state.get("deployment") or {}).get("pending_operations") or ()
    inputs = ((each.get("resource") or {}).get("inputs") or {} for each in steps)
    waits = (each.get("timeout_s") for each in inputs)
    return max([SILENT_S, *(float(each) for each in waits if isinstance(each, int | float))])


def fresh(
    locks: Sequence[Lock], written: datetime, now: datetime, silent_s: float = SILENT_S
) -> tuple[Lock, datetime] | None:
    """Return a lock that may not be opened yet without a question, and when it may be."""
    for each in locks:
        openable = each.openable_from(written, silent_s)
        if openable and now < openable:
            return each, openable
    return None
