"""Follows one job of the smoke set from its creation to its end, its refusal or its failure."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rehearsal.api import Api, ApiServerError
from rehearsal.smoke.jobs import REFUSED, RENTED, SPANS, SmokeJob
from rehearsal.smoke.places import REFUSALS
from rehearsal.smoke.results import Outcome, SmokeRun
from rehearsal.smoke.spokesmen import failed, rules_denial, why_waiting
from settings.names import POOL_LABEL

DEADLINE_S, RENTED_DEADLINE_S = 90.0, 240.0
"""For a hanging job alone; nobody waits so long for one that runs."""
JOB_LABELS = ("batch.kubernetes.io/job-name", "volcano.sh/job-name")
ENDED = ("Complete", "Completed")
BROKEN = ("Failed", "Aborted", "Terminated")
RUNS = ("Running", "Succeeded")
MUST_BREAK = "numa/admissible-shape"
"""The rule that the job breaks which must be refused."""


@dataclass(kw_only=True)
class Followed:
    """A job, what it must do, and what was seen of it so far."""

    api: Api
    job: SmokeJob
    created: float = 0.0
    starts_after_s: float | None = None
    ends_after_s: float | None = None
    outcome: Outcome | None = None
    said: str = ""
    is_the_refusal: bool = False
    """Whether it was refused for what the job that must be refused asks for."""
    nodes: dict[str, str] = field(default_factory=dict)
    """The pool of each node on which a pod of it was seen."""

    def create(self) -> None:
        """Create it; where a rule refuses it that is its outcome, any other error is a failure."""
        self.created = time.monotonic()
        try:
            made = self.api.create(self.job.collection, self.job.manifest)
        except ApiServerError as error:
            denial = rules_denial(str(error))
            if denial:
                self.is_the_refusal = MUST_BREAK in denial
                self._close("refused", f"by the API server: {denial}")
            else:
                self._close("failed", f"{error.summary}: {error}")
            return
        if not made:
            self._close("failed", "the program makes a job of its own with this name.")

    def look(self, pods: Sequence[Mapping[str, Any]]) -> None:
        """Take in how the cluster is now; `pods` may be those of other jobs, too."""
        if self.outcome is not None:
            return
        own = [pod for pod in pods if self._is_own(pod)]
        self._see_nodes(own)
        running = sum(pod["status"].get("phase") in RUNS for pod in own)
        if self.starts_after_s is None and running == self.job.members:
            self.starts_after_s = time.monotonic() - self.created
        state, message = _state(self.api.get(self.job.path) or {})
        reason, said = failed(own)
        where = f"on {', '.join(self.nodes)}: {said}"
        if reason in REFUSALS:
            self.is_the_refusal = True
            self._close("refused", f"by kubelet {where}")
        elif reason:
            self._close("failed", where)
        elif state in BROKEN:
            self._close("failed", message or why_waiting(self.api, *self._name, own))
        elif state in ENDED and running == self.job.members:
            self._close("ended", "")
        elif time.monotonic() - self.created > self._deadline:
            said = why_waiting(self.api, *self._name, own)
            self._close("failed", f"it has not ended after {self._deadline:.0f} s: {said}")

    @property
    def problem(self) -> str:
        """What it did that it must not do, in a sentence; empty where it did what it must."""
        name = f"{self.job.kind}: job {self.job.name}"
        elsewhere = [node for node, pool in self.nodes.items() if pool not in self.job.pools]
        if elsewhere:
            where, pools = ", ".join(elsewhere), " or ".join(self.job.pools)
            return f"{name} was put on {where}, which is not of pool {pools}."
        if self.job.kind == REFUSED:
            if self.is_the_refusal:
                return ""
            what = "ran" if self.outcome == "ended" else f"{self.outcome}: {self.said}"
            return (
                f"{name} must be refused by {MUST_BREAK} or by kubelet, and {what}".rstrip(".")
                + "."
            )
        if self.outcome == "ended":
            return ""
        how = "was refused" if self.outcome == "refused" else "failed:"
        return f"{name} {how} {self.said or 'nobody says why'}".rstrip(".") + "."

    @property
    def result(self) -> SmokeRun:
        """What it did, for the report."""
        return SmokeRun(
            kind=self.job.kind,
            name=self.job.name,
            pool=", ".join(self.job.pools),
            queue=self.job.queue,
            gpus=self.job.gpus,
            outcome=self.outcome or "failed",
            as_it_must=not self.problem,
            said=self.said,
            nodes=tuple(sorted(self.nodes)),
            starts_after_s=_tenths(self.starts_after_s),
            ends_after_s=_tenths(self.ends_after_s),
        )

    @property
    def _name(self) -> tuple[str, str]:
        return self.job.namespace, str(self.job.manifest["metadata"]["name"])

    @property
    def _deadline(self) -> float:
        return RENTED_DEADLINE_S if self.job.kind in (RENTED, SPANS) else DEADLINE_S

    def _close(self, outcome: Outcome, said: str) -> None:
        self.outcome, self.said = outcome, said
        self.ends_after_s = time.monotonic() - self.created

    def _is_own(self, pod: Mapping[str, Any]) -> bool:
        labels = pod["metadata"].get("labels") or {}
        names = {labels.get(each) for each in JOB_LABELS}
        namespace, name = self._name
        return pod["metadata"]["namespace"] == namespace and name in names

    def _see_nodes(self, pods: Sequence[Mapping[str, Any]]) -> None:
        for name in {pod["spec"].get("nodeName", "") for pod in pods} - {"", *self.nodes}:
            node = self.api.get(f"/api/v1/nodes/{name}")
            if node:
                labels = node["metadata"].get("labels") or {}
                self.nodes[name] = str(labels.get(POOL_LABEL, ""))


def _state(job: Mapping[str, Any]) -> tuple[str, str]:
    """The state of a Job of either group, and what its controller says of it."""
    status = job.get("status") or {}
    if "state" in status:
        return str(status["state"].get("phase", "")), str(status["state"].get("message", ""))
    for each in status.get("conditions") or ():
        if each["status"] == "True" and each["type"] in (*ENDED, *BROKEN):
            return str(each["type"]), str(each.get("message", ""))
    return "", ""


def _tenths(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)
