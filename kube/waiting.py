"""Waits for something in a cluster, says from time to time what is still missing, and gives up."""

import sys
import time
from collections.abc import Callable

from httpx2 import HTTPError
from lightkube.core.exceptions import ApiError

from kube.client import KubeError

Say = Callable[[str], None]

FIRST_PAUSE_S = 0.25
LONGEST_PAUSE_S = 10.0
SAY_EVERY_S = 30.0


def say(line: str) -> None:
    """Print one line of progress; the engine shows what a provider prints."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def wait(
    missing: Callable[[], str | None],
    *,
    timeout_s: float,
    tell: Say,
    longest_pause_s: float = LONGEST_PAUSE_S,
) -> str | None:
    """Ask `missing` until it returns None; return its last answer where time runs out before.

    An API server that does not answer counts as missing, because it may be replaced meanwhile.
    """
    started = time.monotonic()
    pause, told, told_at = FIRST_PAUSE_S, "", started
    while True:
        lacking = _asked(missing)
        if lacking is None:
            return None
        now = time.monotonic()
        if lacking != told and (not told or now - told_at >= SAY_EVERY_S):
            tell(lacking)
            told, told_at = lacking, now
        if now - started >= timeout_s:
            return lacking
        time.sleep(min(pause, max(timeout_s - (now - started), 0)))
        pause = min(2 * pause, longest_pause_s)


def _asked(missing: Callable[[], str | None]) -> str | None:
    try:
        return missing()
    except ApiError as error:
        if error.status.code in {401, 403}:
            raise KubeError(
                f"The API server refuses the kubeconfig ({error.status.message}): set one that "
                "may read and change nodes."
            ) from None
        return f"the API server answers: {error.status.message}"
    except HTTPError as error:
        return f"the API server does not answer ({type(error).__name__})"


def duration(seconds: float) -> str:
    """Return a time as people say it: 45 s, 20 min, 25 h."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
