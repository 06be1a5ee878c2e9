"""Measures a machine with new system before its first job: workloads/acceptance, start to verdict.

What a run before this one has left is deleted first, so that no verdict is about the old system.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from httpx2 import HTTPError
from lightkube import Client
from lightkube.codecs import from_dict
from lightkube.core.exceptions import ApiError
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.types import CascadeType

from fleet.reinstall.target import ReinstallError
from hardware.catalogue import Hardware
from kube import nodes
from kube.client import FIELD_MANAGER
from kube.kinds import DaemonSet, Job, Pod
from kube.nodes import NOT_FOUND
from kube.waiting import Say, duration, wait
from settings.names import ACCEPTANCE_NAMESPACE, PROGRAM_LABEL
from workloads.acceptance.manifests import JOBS, manifests, probe_name
from workloads.acceptance.verdict import NUMA_LOG, judge

MEASURE_S, CLEAR_S = 4_200, 600
"""A measurement ends by itself after an hour; a pod that must go has half a minute."""
POLL_S = 2.0
REFUSED = {401, 403}


@dataclass(frozen=True, kw_only=True)
class Acceptance:
    """The measurements of one machine."""

    client: Client
    node: str
    hardware: Hardware
    tell: Say

    def run(self) -> None:
        """Measure the machine; raises ReinstallError with the verdicts that refuse it."""
        self._delete()
        self._until(self._still_there, CLEAR_S, "Look at its pods")
        for manifest in manifests(self.hardware, self.node):
            self.client.apply(from_dict(manifest), field_manager=FIELD_MANAGER, force=True)
        self.tell(f"measuring it: {', '.join(JOBS)} and its NUMA nodes")
        self._until(self._not_ended, MEASURE_S, "Look at its pods")
        accepted = self._judged()
        self._delete()
        self.tell(accepted)

    def _judged(self) -> str:
        """Return the result; raises ReinstallError with the verdicts that refuse the machine."""
        if self._is_simulated():
            return "its machine is simulated: the measurements have ended and have no results"
        found = judge({log: self._log(pods) for log, pods in self._selectors()}, self.hardware)
        refused = [each.sentence.rstrip(".") for each in found if each.passed is False]
        if refused:
            raise ReinstallError(
                f"{self.node} was not accepted: {'; '.join(refused)}. The measurements stay in "
                f"namespace {ACCEPTANCE_NAMESPACE} for a day; the next run measures again."
            )
        told = [each.sentence for each in found if each.measurement == "nccl"]
        return " ".join(["accepted:", *told])

    def _delete(self) -> None:
        for kind, name in self._objects():
            try:
                self.client.delete(
                    kind, name, namespace=ACCEPTANCE_NAMESPACE, cascade=CascadeType.FOREGROUND
                )
            except ApiError as error:
                if error.status.code != NOT_FOUND:
                    raise

    def _objects(self) -> Iterator[tuple[type[Job | DaemonSet], str]]:
        yield from ((Job, f"{name}-{self.node}") for name in JOBS)
        yield DaemonSet, probe_name(self.node)

    def _selectors(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield the name of each log and the labels of the pod that wrote it."""
        for name in JOBS:
            yield name, {"batch.kubernetes.io/job-name": f"{name}-{self.node}"}
        yield NUMA_LOG, {PROGRAM_LABEL: probe_name(self.node)}

    def _still_there(self) -> str | None:
        for kind, name in self._objects():
            if self._find(kind, name) is not None:
                return f"{name} of an earlier measurement is still there"
        return None

    def _not_ended(self) -> str | None:
        for name in JOBS:
            job = self._find(Job, f"{name}-{self.node}")
            if not isinstance(job, Job):
                raise ReinstallError(
                    f"{self.node}: somebody has deleted Job {ACCEPTANCE_NAMESPACE}/{name}-"
                    f"{self.node} meanwhile; the next run measures again."
                )
            conditions = (job.status.conditions if job.status else None) or []
            ended = {each.type for each in conditions if each.status == "True"}
            if not ended & {"Complete", "Failed"}:
                return f"measurement {name} has not ended"
        if not self._is_simulated() and not self._log({PROGRAM_LABEL: probe_name(self.node)}):
            return "the probe of its NUMA nodes has reported nothing"
        return None

    def _find(self, kind: type[Job | DaemonSet], name: str) -> Job | DaemonSet | None:
        try:
            return self.client.get(kind, name, namespace=ACCEPTANCE_NAMESPACE)
        except ApiError as error:
            if error.status.code == NOT_FOUND:
                return None
            raise

    def _log(self, labels: dict[str, str]) -> str:
        """Return what the pod has printed; nothing where its kubelet shows nothing."""
        lines: list[str] = []
        for pod in self.client.list(Pod, namespace=ACCEPTANCE_NAMESPACE, labels=dict(labels)):
            name = str((pod.metadata or ObjectMeta()).name)
            try:
                lines += self.client.log(name, namespace=ACCEPTANCE_NAMESPACE)
            except (ApiError, HTTPError) as error:
                if isinstance(error, ApiError) and error.status.code in REFUSED:
                    raise
                continue  # the verdict then says that the log has no result
        return "".join(lines)

    def _is_simulated(self) -> bool:
        node = nodes.find(self.client, self.node)
        return node is not None and nodes.is_simulated(node)

    def _until(self, missing: Callable[[], str | None], timeout_s: float, advice: str) -> None:
        lacking = wait(missing, timeout_s=timeout_s, tell=self.tell, longest_pause_s=POLL_S)
        if lacking:
            raise ReinstallError(
                f"{self.node}: after {duration(timeout_s)} {lacking}. {advice} in namespace "
                f"{ACCEPTANCE_NAMESPACE}; the next run measures again."
            )
