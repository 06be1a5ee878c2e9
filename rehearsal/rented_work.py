"""Work on rented machines at the end of an environment: the gang of the smoke set, without an end.

A machine that runs pods is what `fleet destroy` finds: Karpenter drains it before it ends, and
only then takes its finalizer off.
"""

import time

from rehearsal.errors import RehearsalError
from rehearsal.karpenter import instances
from rehearsal.smoke.jobs import RENTED, SmokeJob, smoke_jobs
from rehearsal.twin import Twin
from settings import Settings

LONGER_THAN_THE_END = "24h"
DAY_S = 86_400
RUNS_WITHIN_S = 180.0
PAUSE_S = 0.2
NAME = "volcano.sh/job-name"


def at_work(twin: Twin, settings: Settings) -> tuple[str, ...]:
    """Start the gang that rents; return the machines that it has when all of its pods run.

    Returns nothing where the environment rents nothing. Raises RehearsalError for a gang that does
    not run in time.
    """
    found = smoke_jobs(settings, runs_for=LONGER_THAN_THE_END)
    gang = next((job for job in found if job.kind == RENTED), None)
    if gang is None:
        return ()
    api, deadline = twin.control_plane.api, time.monotonic() + RUNS_WITHIN_S
    gang.manifest["metadata"]["name"] = "destroyed-at-work"
    gang.template["spec"]["activeDeadlineSeconds"] = DAY_S
    api.create(gang.collection, gang.manifest)
    while _running(twin, gang) < gang.members:
        twin.engine.processes.check()
        if time.monotonic() > deadline:
            raise RehearsalError(
                f"{gang.name} did not run within {RUNS_WITHIN_S:.0f} s, and `fleet destroy` is "
                "rehearsed with a gang on rented machines."
            )
        time.sleep(PAUSE_S)
    return tuple(each.id for each in instances.alive(twin.engine.directory))


def _running(twin: Twin, gang: SmokeJob) -> int:
    """Return how many pods of the gang run."""
    path = f"/api/v1/namespaces/{gang.namespace}/pods"
    name = gang.manifest["metadata"]["name"]
    pods = twin.control_plane.api.items(path, labelSelector=f"{NAME}={name}")
    return sum(pod["status"].get("phase") == "Running" for pod in pods)
