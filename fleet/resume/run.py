"""The steps of `fleet resume` before its update: look up, unlock, put into the state, read."""

import os
import re
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from engine.events import Outcome
from fleet.deployed_stack import DeployedStack, StackError, StackLockedError
from fleet.resume import lookup
from fleet.resume.clouds import AskError, Clouds
from fleet.resume.pending import CREATING, Answer, Pending, pending, settled, to_read, unseen
from fleet.resume.releases import HalfDoneError, is_there
from kube.client import KubeError
from settings.names import RELEASE

HOLDER = re.compile(r"created by (?P<user>\S+)@(?P<host>\S+) \(pid (?P<pid>\d+)\)")
"""Who has the lock of a bucket or folder (checkForLock in pkg/backend/diy/lock.go of pulumi
v3.220.0)."""


@dataclass(frozen=True, kw_only=True)
class Known:
    """What a person knows: the ids of what is there, and what is not there, by name or URN."""

    ids: Mapping[str, Sequence[str]] = field(default_factory=dict)
    gone: Sequence[str] = ()

    def of(self, begun: Pending) -> Answer | None:
        """Return what they know of a pending create; None where that is nothing."""
        if begun.name in self.gone or begun.urn in self.gone:
            return Answer()
        ids = self.ids.get(begun.urn, self.ids.get(begun.name))
        return Answer(ids=tuple(ids)) if ids else None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What would be done to the state: pending steps, and in their order what is known of each."""

    state: Mapping[str, Any] = field(repr=False)
    clouds: Clouds = field(repr=False)
    begun: tuple[Pending, ...]
    answers: tuple[Answer, ...]
    unseen: tuple[str, ...]
    """What an earlier run has put into the state and not read."""


@dataclass(frozen=True, kw_only=True)
class Settled:
    """What became of pending creates, by kind and name."""

    found: tuple[str, ...] = ()
    not_there: tuple[str, ...] = ()
    useless: tuple[str, ...] = ()


class UnfinishedError(StackError):
    """Helm must end releases before an update goes on; the text has a line with each command."""

    def __init__(self, releases: Sequence[HalfDoneError]) -> None:
        super().__init__("\n".join(dict.fromkeys(map(str, releases))))
        self.releases = releases


@dataclass(frozen=True, kw_only=True)
class Resume:
    """A stack whose last update was killed."""

    stack: DeployedStack
    clouds: Callable[[Sequence[Mapping[str, Any]]], Clouds]
    """Makes the clouds from the resources in the state."""
    known: Known = field(default_factory=Known)

    def plan(self) -> Plan:
        """Look up what is pending.

        Raises StackError with a line for each that nobody can ask, and UnfinishedError where Helm
        must end a release first.
        """
        state = self._state()
        begun = tuple(pending(state))
        self._refuse_strangers(begun)
        clouds = self.clouds((state.get("deployment") or {}).get("resources") or [])
        answers: list[Answer] = []
        problems: list[str] = []
        half_done: list[HalfDoneError] = []
        for each in begun:
            try:
                answers.append(self._answer(each, clouds))
            except HalfDoneError as error:
                half_done.append(error)
            except KubeError as error:
                problems.append(f"{each.title}: what Helm has made of it is not known. {error}")
            except AskError as error:
                problems.append(
                    f"{each.title}: it may have been made, and the state does not know: {error}. "
                    f"Then add `--id {each.name}=ID`, or `--gone {each.name}` where it is not "
                    "there."
                )
        if problems:
            raise StackError("\n".join(dict.fromkeys([*problems, *map(str, half_done)])))
        if half_done:
            raise UnfinishedError(half_done)
        return Plan(
            state=state,
            clouds=clouds,
            begun=begun,
            answers=tuple(answers),
            unseen=tuple(unseen(state)),
        )

    def settle(self, plan: Plan, progress: Callable[[Outcome], None]) -> Settled:
        """Put into the state what there is, and read it; a run that is killed goes on by another.

        Raises StackError where an update still runs.
        """
        new = settled(plan.state, plan.answers)
        self._put_back(new)
        _delete_keys(new, plan.clouds)
        if urns := [*to_read(new, plan.state)]:
            self.stack.refresh(urns, progress)
        return _result(plan, new, {each["urn"] for each in self.stack.resources()})

    def _state(self) -> dict[str, Any]:
        """Return the state; its secrets are in the clear where a release's outputs need them."""
        state = self.stack.exported()
        if any(each.type == RELEASE and each.operation == CREATING for each in pending(state)):
            return self.stack.exported(secrets=True)
        return state

    def _answer(self, begun: Pending, clouds: Clouds) -> Answer:
        if begun.operation == CREATING:
            return self.known.of(begun) or lookup.look_up(begun, clouds)
        if begun.type == RELEASE:
            is_there(begun, clouds.kubeconfig())
        return Answer()

    def _put_back(self, state: Mapping[str, Any]) -> None:
        """Write the state; open the lock that a killed engine has left."""
        try:
            self.stack.put_back(state)
        except StackLockedError as locked:
            if running := _running_here(locked.words):
                raise StackError(
                    f"The update of {self.stack.environment} still runs (process {running}): wait "
                    f"for it, or end it with `kill -INT {running}`."
                ) from None
            self.stack.open()
            self.stack.put_back(state)

    def _refuse_strangers(self, begun: Sequence[Pending]) -> None:
        names = {each.name for each in begun} | {each.urn for each in begun}
        for option, given in (("--id", self.known.ids), ("--gone", self.known.gone)):
            for name in given:
                if name not in names:
                    told = ", ".join(dict.fromkeys(each.name for each in begun))
                    raise StackError(f'{option} is "{name}"; pending: {told or "nothing"}.')


def _result(plan: Plan, new: Mapping[str, Any], there: set[str]) -> Settled:
    """Return what became of the creates: in `new` is what was put back, `there` what it holds."""
    to_delete = {
        (each["urn"], each["id"]) for each in new["deployment"]["resources"] if each.get("delete")
    }
    found, not_there, useless = [], [], []
    for each, answer in zip(plan.begun, plan.answers, strict=True):
        if each.operation != CREATING:
            continue
        doomed = [id_ for id_ in answer.ids if (each.urn, id_) in to_delete]
        if doomed:
            useless.append(each.title)
        elif answer.ids and each.urn in there:
            found.append(each.title)
        elif each.urn not in there:
            not_there.append(each.title)
    return Settled(found=tuple(found), not_there=tuple(not_there), useless=tuple(useless))


def _delete_keys(state: Mapping[str, Any], clouds: Clouds) -> None:
    """Delete access keys that the state has as ones to delete, before an update makes another.

    An update deletes last, and a user of AWS has two keys at most.
    """
    for each in state["deployment"]["resources"]:
        if each["type"] == lookup.ACCESS_KEY and each.get("delete"):
            with suppress(AskError):  # the update deletes it, too
                user = str(each["inputs"]["user"])
                if each["id"] in clouds.access_keys(user):
                    clouds.delete_access_key(user, each["id"])


def _running_here(words: str) -> int | None:
    """Return the process that has the lock, where it runs on this machine."""
    for found in HOLDER.finditer(words):
        process = int(found["pid"])
        if found["host"] == socket.gethostname() and _runs(process):
            return process
    return None


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # of another user
        return True
    return True
