"""Judges measurements against the hardware catalogue: accepted, refused, or only reported."""

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hardware.catalogue import Hardware
from hardware.cpuset import parse_list
from workloads.acceptance import nccl

NCCL_SHARE = 0.95
"""Runs of a sound machine differ by a few percent; a NIC or a link that is down costs more."""
GEMM_RATIO = 0.99
"""A pod with whole GPUs has nothing between its kernels and the GPU."""
NODE_PAGES_SHARE = 0.999
MEMORY_SHARE = 0.9
TUNED_SHARE = 0.9
"""Noise takes some percent; below this the tuning costs more than it gives."""
NUMA_LOG = "numa"
"""The name of the log of the probe, which is no Job."""


@dataclass(frozen=True, kw_only=True)
class AcceptanceVerdict:
    """`passed` is None where the catalogue has no figure to judge by."""

    measurement: str
    passed: bool | None
    sentence: str


def judge(logs: Mapping[str, str], hardware: Hardware) -> list[AcceptanceVerdict]:
    """Returns a verdict for each measurement by the names of their logs; none counts as empty."""
    return [
        all_reduce(logs.get("nccl", ""), hardware),
        gemm(logs.get("gemm-host", ""), logs.get("gemm-pod", ""), hardware),
        *numa(logs.get(NUMA_LOG, ""), hardware),
        *tuned(logs.get("tuned", "")),
    ]


def all_reduce(log: str, hardware: Hardware) -> AcceptanceVerdict:
    """Judges NCCL over all GPUs of the machine by the catalogue's bus bandwidth."""
    try:
        run = nccl.parse(log)
    except ValueError as error:
        return _verdict("nccl", False, f"{error}.")
    said = f"all_reduce over {run.ranks} GPUs reached {run.peak:.1f} GB/s"
    expected = hardware.nccl_all_reduce_busbw_gb_per_s
    if run.wrong:
        return _verdict("nccl", False, f"{said}, and {run.wrong} values were wrong.")
    if run.ranks != hardware.gpu_count:
        return _verdict("nccl", False, f"{said}; {hardware.name} has {hardware.gpu_count}.")
    if expected is None:
        why = f"the catalogue has no figure for {hardware.name}"
        return _verdict("nccl", None, f"{said}; not judged, because {why}.")
    least = expected * NCCL_SHARE
    wanted = f"at least {least:.1f} are expected ({NCCL_SHARE:.0%} of {expected:g})"
    return _verdict("nccl", run.peak >= least, f"{said}; {wanted}.")


def gemm(host: str, pod: str, hardware: Hardware) -> AcceptanceVerdict:
    """Compares one matrix product on the host and in a pod."""
    try:
        on_host, in_pod = _tflops(host), _tflops(pod)
    except ValueError as error:
        return _verdict("gemm", False, f"{error}.")
    if not len(on_host) == len(in_pod) == hardware.gpu_count:
        counts = f"{len(on_host)} GPUs were measured on the host and {len(in_pod)} in the pod"
        return _verdict("gemm", False, f"{counts}; {hardware.name} has {hardware.gpu_count}.")
    ratio = statistics.mean(in_pod) / statistics.mean(on_host)
    ratios = [a / b for a, b in zip(in_pod, on_host, strict=True)]
    worst = min(range(len(ratios)), key=ratios.__getitem__)
    return _verdict(
        "gemm",
        ratio >= GEMM_RATIO,
        f"a matrix product runs at {statistics.mean(in_pod):.0f} TFLOP/s in a pod and "
        f"{statistics.mean(on_host):.0f} on the host, a ratio of {ratio:.3f}; at least "
        f"{GEMM_RATIO} is expected (worst: GPU {worst} with {ratios[worst]:.3f}).",
    )


def _tflops(log: str) -> Sequence[float]:
    answers = _answers(log, "tflops")
    if not answers or not answers[-1]["tflops"]:
        raise ValueError("a log of the matrix product has no result: it failed before the end")
    return [float(each) for each in answers[-1]["tflops"]]


def numa(log: str, hardware: Hardware) -> list[AcceptanceVerdict]:
    """Judges each NUMA node by the catalogue, and whether bound memory lies on its node."""
    answers = _answers(log, "nodes")
    if not answers:
        return [_verdict("numa", False, "the log of the NUMA probe has no result.")]
    return [each for answer in answers for each in _numa(answer, hardware)]


def _numa(answer: Mapping[str, Any], hardware: Hardware) -> Iterator[AcceptanceVerdict]:
    """Judges the nodes of one machine."""
    machine = answer["machine"]
    seen = {node["id"]: node for node in answer["nodes"]}
    planned = {node.id: node for node in hardware.numa_nodes}
    if seen.keys() != planned.keys():
        found = f"{machine} has NUMA nodes {sorted(seen)}"
        yield _verdict("numa", False, f"{found}; {hardware.name} has {sorted(planned)}.")
        return
    for number, node in sorted(seen.items()):
        wanted = planned[number]
        fault = _fault(node, wanted.cpus, wanted.memory_gib * 1024)
        shape = f"CPUs {node['cpus']} and {node['memory_mib']} MiB"
        ending = fault or "memory asked of it came from it"
        sentence = f"{machine}: NUMA node {number} has {shape}, and {ending}."
        yield _verdict("numa", fault is None, sentence)


def _fault(node: Mapping[str, Any], cpus: str, memory_mib: float) -> str | None:
    if parse_list(node["cpus"]) != parse_list(cpus):
        return f"the catalogue has CPUs {cpus}"
    if node["memory_mib"] < memory_mib * MEMORY_SHARE:
        return f"the catalogue has {memory_mib:.0f} MiB"
    if node["error"]:
        return f"the kernel refused to bind memory to it ({node['error']})"
    pages: Mapping[str, int] = node["pages"]
    here, everywhere = pages.get(str(node["id"]), 0), sum(pages.values())
    if not everywhere or here < everywhere * NODE_PAGES_SHARE:
        return f"only {here} of {everywhere} pages asked of it came from it"
    return None


def tuned(log: str) -> list[AcceptanceVerdict]:
    """Tells what the tuning gives on this machine; refuses a tuned side that is the slower one."""
    answers = _answers(log, "comparisons")
    if not answers:
        return [_verdict("tuned", False, "the log of the comparisons has no result.")]
    answer = answers[-1]
    seen = answer["machine"]
    head = f"{answer['day']}, {seen['gpus']}, driver {seen['driver']}, {seen['cpu']}"
    return [
        _verdict("tuned", None, f"{head}, Linux {seen['kernel']}."),
        *map(_compared, answer["comparisons"]),
        *(
            _verdict("tuned", None, f"{each['name']} was not measured: {each['why']}.")
            for each in answer["missing"]
        ),
    ]


def _compared(found: Mapping[str, Any]) -> AcceptanceVerdict:
    good, bad, unit = found["tuned"], found["untuned"], found["unit"]
    times = good / bad if found["more_is_better"] else bad / good
    sides = f"{good:.3g} {unit} with {found['tuned_by']}, {bad:.3g} with {found['untuned_by']}"
    sentence = f"{found['name']}: {sides}, {times:.2f} times as good"
    if times >= TUNED_SHARE:
        return _verdict("tuned", True, f"{sentence}.")
    return _verdict("tuned", False, f"{sentence}; at least {TUNED_SHARE:g} is expected.")


def _answers(log: str, key: str) -> list[Mapping[str, Any]]:
    """Returns the lines of JSON that have the key; images print banners between them."""
    found = []
    for line in log.splitlines():
        try:
            answer = json.loads(line) if line.startswith("{") else {}
        except json.JSONDecodeError:
            continue
        if key in answer:
            found.append(answer)
    return found


def _verdict(measurement: str, passed: bool | None, sentence: str) -> AcceptanceVerdict:
    return AcceptanceVerdict(measurement=measurement, passed=passed, sentence=sentence)
