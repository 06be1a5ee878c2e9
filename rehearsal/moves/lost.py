"""Which jobs a change has ended, and what their work was worth."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hardware.catalogue import HardwareError, load
from kube.drain import MADE_ANEW
from rehearsal.moves.gpu_parts import gpus_of_pod
from rehearsal.moves.jobs import RunningJob
from rehearsal.moves.machines import is_on
from rehearsal.moves.result import EndedJob
from rehearsal.moves.start import job_of
from rehearsal.moves.watch import Seen
from settings.names import CAPACITY_LABEL, HARDWARE_LABEL, POOL_LABEL


@dataclass
class _Pod:
    """A pod as it was seen last; `first` where it ran before the change."""

    found: dict[str, Any]
    phase: str
    first: bool
    ended_at_s: float | None = None


def ended_jobs(seen: Sequence[Seen], jobs: Sequence[RunningJob]) -> tuple[EndedJob, ...]:
    """Return the jobs of which a running pod has ended before its time, in the order of their ends.

    It has failed or gone, or its machine was replaced, wiped or switched off under it. A pod that
    its controller makes anew elsewhere without loss (of a ReplicaSet or StatefulSet) is no such
    job, nor is one that has ended well. Of a gang, whose pods cannot go on without one another, one
    such pod ends all; a pod that it was started with again has no hours of work to lose.
    """
    of_jobs: dict[str, list[_Pod]] = defaultdict(list)
    for pod in _pods(seen).values():
        of_jobs[job_of(pod.found)].append(pod)
    nodes = _nodes(seen)
    found = (_ended(job, of_jobs[job.name], nodes) for job in jobs)
    return tuple(sorted(filter(None, found), key=lambda each: each.at_s))


def to_be_ended(
    seen: Sequence[Seen], jobs: Sequence[RunningJob], nodes: Collection[str], at_s: float
) -> tuple[EndedJob, ...]:
    """Return the jobs that end when these machines go, beside those that have ended."""
    known = {each.name for each in ended_jobs(seen, jobs)}
    last = {each.key: each for each in seen if each.kind == "Node" and each.key in nodes}
    gone = [replace(each, gone=True, at_s=at_s) for each in last.values()]
    found = ended_jobs((*seen, *gone), jobs)
    return tuple(
        replace(each, to_come=True, again_on=()) for each in found if each.name not in known
    )


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
            first=before.first if before else each.first,
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


def _ended(
    job: RunningJob, pods: Sequence[_Pod], nodes: Mapping[str, Mapping[str, Any]]
) -> EndedJob | None:
    """Return what became of a job, from all the pods that it has had; None where it runs on."""
    ended = sorted(
        (pod for pod in pods if pod.ended_at_s is not None), key=lambda pod: pod.ended_at_s or 0
    )
    if not ended:
        return None
    lost = [pod for pod in (pods if job.is_gang else ended) if pod.first]
    prices = [usd_per_gpu_hour(_labels(nodes, pod)) for pod in lost]
    hours = [_gpus(nodes, pod) * job.hours for pod in lost]
    priced = [price * each for price, each in zip(prices, hours, strict=True) if price is not None]
    running = sorted(_node(pod) for pod in pods if _runs(pod) and (job.is_gang or not pod.first))
    again = len(running) >= job.needs
    return EndedJob(
        name=job.name,
        pool=_labels(nodes, ended[0]).get(POOL_LABEL, ""),
        node=_node(ended[0]),
        gpus=round(sum(_gpus(nodes, pod) for pod in lost or ended), 2),
        gpu_hours_lost=round(sum(hours), 2),
        usd=None if None in prices else round(sum(priced), 2),
        at_s=round(ended[0].ended_at_s or 0.0, 1),
        again_on=tuple(dict.fromkeys(running)) if again else (),
        gang=job.is_gang,
        times=max(Counter(pod.found["metadata"]["name"] for pod in ended).values()),
    )


def _runs(pod: _Pod) -> bool:
    return pod.phase == "Running" and pod.ended_at_s is None


def _node(pod: _Pod) -> str:
    return str(pod.found["spec"]["nodeName"])


def _gpus(nodes: Mapping[str, Mapping[str, Any]], pod: _Pod) -> float:
    return float(gpus_of_pod(pod.found, nodes.get(_node(pod), {})))


def _labels(nodes: Mapping[str, Mapping[str, Any]], pod: _Pod) -> Mapping[str, str]:
    return (nodes.get(_node(pod)) or {"metadata": {}})["metadata"].get("labels") or {}


def usd_per_gpu_hour(labels: Mapping[str, str]) -> float | None:
    """Return what an hour of a GPU costs on a Node with these labels."""
    try:
        machine = load(labels.get(HARDWARE_LABEL, ""))
    except HardwareError:
        return None
    usd = machine.usd_per_hour_as(labels.get(CAPACITY_LABEL))
    return None if usd is None or not machine.gpu_count else usd / machine.gpu_count


def _nodes(seen: Sequence[Seen]) -> dict[str, dict[str, Any]]:
    """Return every Node that there was, as it was when it first offered anything to pods."""
    found = [each for each in seen if each.kind == "Node"]
    offers = [each for each in found if (each.found.get("status") or {}).get("allocatable")]
    return {each.key: each.found for each in (*found, *reversed(offers))}


def without_place(ended: Sequence[EndedJob]) -> Iterator[str]:
    """Yield the ended jobs that have not been started again."""
    yield from (job.name for job in ended if not job.again_on)
