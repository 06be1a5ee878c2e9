"""Reinstalls the machines of a pool one after another, and stops at the first that fails."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from httpx2 import HTTPError
from lightkube import Client
from lightkube.core.exceptions import ApiError, ConfigError

from fleet.reinstall.machine import Machine
from fleet.reinstall.target import ReinstallError, Target
from kube import metal3
from kube.client import KubeError, reason
from kube.lease import Held, held
from kube.waiting import Say

ASKED = "asked for"
State = Literal["to reinstall", "as it should be", "reinstalled", "failed"]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of one machine. `reasons` say why it was, or is, to be reinstalled."""

    machine: str
    state: State
    reasons: tuple[str, ...] = ()
    seconds: float = 0.0


def planned(
    client: Client, target: Target, names: Sequence[str], *, again: bool
) -> tuple[Outcome, ...]:
    """Return what would become of the machines, those first that an earlier run has begun.

    Without `names` of all machines of the pool; `again` takes those, too, that are as they should
    be. Raises ReinstallError where a name or a host is wrong.
    """
    unknown = [name for name in names if name not in target.machines]
    if unknown:
        raise ReinstallError(
            f'"{unknown[0]}" is not a machine that stays in pool {target.pool}; allowed: '
            f"{', '.join(target.machines)}."
        )
    begun: list[Outcome] = []
    others: list[Outcome] = []
    for name in names or target.machines:
        machine = Machine(client=client, target=target, name=name, tell=_silent)
        with _sentences(name):
            phase, reasons = machine.phase(), tuple(machine.reasons())
        asked = (ASKED,) if again and not reasons else ()
        state: State = "to reinstall" if reasons or asked else "as it should be"
        (begun if phase else others).append(
            Outcome(machine=name, state=state, reasons=reasons + asked)
        )
    return (*begun, *others)


def reinstall(
    client: Client, target: Target, plan: Sequence[Outcome], tell: Say
) -> Iterator[Outcome]:
    """Reinstall the machines of a plan one at a time, and yield what became of each.

    After a machine that failed, the others stay as they are. Raises ReinstallError or KubeError,
    and touches no machine, where another run works on the pool.
    """
    busy = f"Another `{target.command}` works on the pool, one machine at a time"
    with (
        _sentences(target.pool),
        held(client, target.namespace, metal3.REINSTALL_LEASE, busy=busy, tell=tell) as lease,
    ):
        yield from _one_by_one(client, target, plan, tell, lease)


def _one_by_one(
    client: Client, target: Target, plan: Sequence[Outcome], tell: Say, lease: Held
) -> Iterator[Outcome]:
    for number, each in enumerate(plan):
        if each.state != "to reinstall":
            yield each
            continue
        started = time.monotonic()
        say = partial(_named, tell, each.machine)
        machine = Machine(
            client=client, target=target, name=each.machine, tell=say, check_alone=lease.check
        )
        try:
            with _sentences(each.machine):
                if not (machine.reasons() or ASKED in each.reasons):
                    yield replace(each, state="as it should be", reasons=())  # by another run
                    continue
                machine.reinstall()
        except (ReinstallError, KubeError) as error:
            seconds = time.monotonic() - started
            yield replace(each, state="failed", reasons=(str(error),), seconds=seconds)
            yield from plan[number + 1 :]
            return
        yield replace(each, state="reinstalled", seconds=time.monotonic() - started)


def _named(tell: Say, machine: str, line: str) -> None:
    tell(f"{machine}: {line}")


def _silent(_line: str) -> None:
    pass


@contextmanager
def _sentences(machine: str) -> Iterator[None]:
    """Turn what the API server answers into a sentence."""
    try:
        yield
    except ApiError as error:
        raise ReinstallError(
            f"{machine}: the API server refuses ({error.status.message}); your kubeconfig must "
            "allow to change BareMetalHosts, Leases and Nodes, evict pods, write Secrets in "
            "kube-system, and run Jobs in fleet-acceptance."
        ) from None
    except HTTPError as error:
        raise ReinstallError(
            f"{machine}: the API server does not answer ({type(error).__name__}); run the same "
            "command again."
        ) from None
    except (ConfigError, OSError) as error:  # of a file with a token
        raise ReinstallError(
            f"{machine}: your kubeconfig gives no access ({reason(error)}); log in, or set "
            "KUBECONFIG to another."
        ) from None
