"""Which jobs a change has ended, and what their work was worth."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hardware.catalogue import HardwareError, load
from kube.drain import MADE_ANEW
from rehearsal.moves.jobs import RunningJob
from rehearsal.moves.machines import is_on
from rehearsal.moves.result import EndedJob
from rehearsal.moves.start import job_of
from rehearsal.moves.watch import Seen
from settings.names import GPU, HARDWARE_LABEL, POOL_LABEL


@dataclass
class _Pod:
    """A pod as it was seen last."""

    found: dict[str, Any]
    phase: str
    ended_at_s: float | None = None


def ended_jobs(seen: Sequence[Seen], jobs: Sequence[RunningJob]) -> tuple[EndedJob, ...]:
    """Return the jobs of which a running pod has ended before its time, in the order of their ends.

    It has failed or gone, or its machine was replaced, wiped or switched off under it. A pod that
    its controller makes anew elsewhere without loss (of a ReplicaSet or StatefulSet) is no such
    job, nor is one that has ended well.
    """
    hours = {job.name: job.hours for job in jobs}
    nodes = _nodes(seen)
    pods = _pods(seen)
    found: dict[str, EndedJob] = {}
    for pod in sorted(pods.values(), key=lambda one: one.ended_at_s or 0):
        name = job_of(pod.found)
        if pod.ended_at_s is None or name not in hours:
            continue
        ended = _ended(name, pod, nodes.get(pod.found["spec"].get("nodeName", ""), {}), hours[name])
        found[name] = _both(found[name], ended) if name in found else ended
    again = _running_again(pods)
    return tuple(replace(job, again_on=again.get(job.name)) for job in found.values())


def _pods(seen: Sequence[Seen]) -> dict[str, _Pod]:
    """Return every pod with a machine by its uid, and when it ended before its time."""
    pods: dict[str, _Pod] = {}
    for each in seen:
        if each.kind == "Node" and (each.gone or not is_on(each.found)):
            _lose_all_on(each.key, each.at_s, pods.values())
        if each.kind != "Pod" or not _is_work(each.found):
            continue
        uid, phase = each.found["metadata"]["uid"], each.found["status"].get("phase", "")
        before = pods.get(uid)
        ran = before is not None and before.phase == "Running"
        ended = before.ended_at_s if before else None
        lost = ran and ended is None and (phase == "Failed" or (each.gone and phase == "Running"))
        pods[uid] = _Pod(
            found=each.found,
            phase="" if each.gone else phase,
            ended_at_s=each.at_s if lost else ended,
        )
    return pods


def _lose_all_on(node: str, at_s: float, pods: Iterable[_Pod]) -> None:
    """Note that a machine has ended, with what ran on it, whatever the API server says of pods."""
    for pod in pods:
        if pod.found["spec"]["nodeName"] == node and pod.phase == "Running":
            pod.ended_at_s = at_s if pod.ended_at_s is None else pod.ended_at_s


def _is_work(pod: Mapping[str, Any]) -> bool:
    owners = pod["metadata"].get("ownerReferences") or []
    anew = any(owner["kind"] in (*MADE_ANEW, "DaemonSet", "Node") for owner in owners)
    return bool(pod["spec"].get("nodeName")) and not anew


def _running_again(pods: Mapping[str, _Pod]) -> dict[str, str]:
    return {
        job_of(pod.found): pod.found["spec"]["nodeName"]
        for pod in pods.values()
        if pod.phase == "Running" and pod.ended_at_s is None
    }


def _ended(name: str, pod: _Pod, labels: Mapping[str, str], hours: float) -> EndedJob:
    gpus = sum(map(_gpus, pod.found["spec"]["containers"]))
    price = _usd_per_gpu_hour(labels.get(HARDWARE_LABEL, ""))
    lost = round(gpus * hours, 2)
    return EndedJob(
        name=name,
        pool=labels.get(POOL_LABEL, ""),
        node=pod.found["spec"]["nodeName"],
        gpus=gpus,
        gpu_hours_lost=lost,
        usd=None if price is None else round(lost * price, 2),
        at_s=round(pod.ended_at_s or 0.0, 1),
    )


def _both(first: EndedJob, second: EndedJob) -> EndedJob:
    """Return a job of which one pod ended after another."""
    usd = None if first.usd is None or second.usd is None else round(first.usd + second.usd, 2)
    lost = round(first.gpu_hours_lost + second.gpu_hours_lost, 2)
    return replace(first, gpus=first.gpus + second.gpus, gpu_hours_lost=lost, usd=usd)


def _gpus(container: Mapping[str, Any]) -> int:
    return int((container.get("resources") or {}).get("limits", {}).get(GPU, 0))


def _usd_per_gpu_hour(hardware: str) -> float | None:
    try:
        machine = load(hardware)
    except HardwareError:
        return None
    usd = machine.usd_per_hour
    return None if usd is None or not machine.gpu_count else usd / machine.gpu_count


def _nodes(seen: Sequence[Seen]) -> dict[str, dict[str, str]]:
    """Return the labels of every Node that there was."""
    return {
        each.key: dict(each.found["metadata"].get("labels") or {})
        for each in seen
        if each.kind == "Node"
    }


def without_place(ended: Sequence[EndedJob]) -> Iterator[str]:
    """Yield the ended jobs that have not been started again."""
    yield from (job.name for job in ended if job.again_on is None)
