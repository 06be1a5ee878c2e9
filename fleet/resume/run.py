"""The steps of `fleet resume` before its update: look up, unlock, put into the state, read."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from engine.events import Outcome
from fleet.deployed_stack import DeployedStack, StackError
from fleet.resume import lookup
from fleet.resume.clouds import AskError, Clouds, UnansweredError
from fleet.resume.known import Known
from fleet.resume.locks import Lock, fresh, locks_in, running, silent_s
from fleet.resume.pending import (
    CREATING,
    Answer,
    Pending,
    fingerprint,
    on_its_way_s,
    pending,
    settled,
    to_read,
    unseen,
    written,
)
from fleet.resume.releases import HalfDoneError, is_there
from kube.client import KubeError
from settings.names import RELEASE


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What would be done to the state: pending steps, and in their order what is known of each."""

    state: Mapping[str, Any] = field(repr=False)
    clouds: Clouds = field(repr=False)
    begun: tuple[Pending, ...]
    answers: tuple[Answer, ...]
    unseen: tuple[str, ...]
    """What an earlier run has put into the state and not read."""
    locks: tuple[Lock, ...]

    @property
    def empty(self) -> bool:
        """Whether there is nothing to go on with."""
        return not (self.begun or self.unseen or self.locks)


@dataclass(frozen=True, kw_only=True)
class Settled:
    """What became of pending creates, by kind and name."""

    found: tuple[str, ...] = ()
    not_there: tuple[str, ...] = ()
    useless: tuple[str, ...] = ()


class NothingDoneError(StackError):
    """The stack is not as it was planned for, and nothing was changed."""


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
    asks: bool = True
    """Whether a person who can know that no update runs is asked before a lock is opened."""

    def plan(self, wait: Callable[[float], None] = lambda _seconds: None) -> Plan:
        """Look up who has the lock and what is pending; `wait` while a cloud may still make it.

        Raises StackError where an update may still run, or with a line for each that cannot be
        looked up, and UnfinishedError where Helm must end a release first.
        """
        locks = self._locks()
        state = self._state()
        self._refuse_fresh(locks, state)
        begun = tuple(pending(state))
        if wrong := self.known.wrong(begun):
            raise StackError(wrong)
        if seconds := on_its_way_s(state, datetime.now(UTC)):
            wait(seconds)
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
            except UnansweredError as error:
                problems.append(f"{_unknown(each)}: {error}.")
            except AskError as error:
                problems.append(
                    f"{_unknown(each)}: {error}. Then add `--id {each.name}=ID`, or "
                    f"`--gone {each.name}` where it is not there."
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
            locks=locks,
        )

    def settle(self, plan: Plan, progress: Callable[[Outcome], None]) -> Settled:
        """Put into the state what there is, and read it; a run that is killed goes on by another.

        Raises NothingDoneError where somebody has begun or ended an update since the plan.
        """
        new = settled(plan.state, plan.answers)
        try:
            locks = self._unchanged(plan)
        except StackError as error:
            raise NothingDoneError(str(error)) from None
        if locks:
            self.stack.open()
        if plan.begun:
            self.stack.put_back(new)
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

    def _locks(self) -> tuple[Lock, ...]:
        """Return the locks; refuse where the update that has one runs on this machine."""
        words = self.stack.lock()
        locks = locks_in(words) if words else ()
        if held := running(locks):
            raise StackError(
                f"The update of {self.stack.environment} still runs. {held.told(datetime.now(UTC))}"
                f" Wait for it, or end it with `kill -INT {held.process}`."
            )
        return locks

    def _refuse_fresh(self, locks: Sequence[Lock], state: Mapping[str, Any]) -> None:
        now = datetime.now(UTC)
        silent = silent_s(state)
        if not self.asks and (found := fresh(locks, written(state), now, silent)):
            lock, openable = found
            raise StackError(
                f"{lock.told(now)} An update may still run there, and with --yes nobody is asked: "
                "such a lock is opened when neither it nor the state was written for "
                f"{silent / 60:.0f} min, from {openable:%Y-%m-%d %H:%M} UTC on. Where you know "
                "that the update has ended, run the same command without --yes."
            )

    def _unchanged(self, plan: Plan) -> tuple[Lock, ...]:
        """Return the locks, which are those of the plan; raise where they or the state are not."""
        locks = self._locks()
        if [each for each in locks if each not in plan.locks]:
            told = " ".join(each.told(datetime.now(UTC)) for each in locks)
            raise StackError(f"Another update has begun meanwhile. {told}")
        if fingerprint(self.stack.exported()) != fingerprint(plan.state):
            raise StackError(
                f"The state of {self.stack.environment} was changed meanwhile: run the same "
                "command again."
            )
        return locks


def _unknown(begun: Pending) -> str:
    return f"{begun.title}: it may have been made, and the state does not know"


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
