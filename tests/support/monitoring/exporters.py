"""Series as Prometheus stores them after a scrape of the real exporters, with all their labels.

Read from the exporters' sources: DCGM exporter (internal/pkg/rendermetrics, collector), node
exporter (collector/meminfo_numa_linux.go), Volcano 1.14 (pkg/controllers/metrics). The target's
labels come on top; where both have one, the exporter's is renamed unless its monitor honours it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

STEP_SECONDS = 15
GAP = "_"
"""A scrape that failed."""
STALE = "stale"
"""A series that the exporter no longer shows."""

Value = float | str
MINUTE = 60 // STEP_SECONDS

_XID_WINDOW_MS = "300000"


@dataclass(frozen=True, kw_only=True)
class Series:
    """A series and its samples, one every STEP_SECONDS from the beginning."""

    name: str
    labels: Mapping[str, str]
    samples: tuple[Value, ...]

    @property
    def selector(self) -> str:
        """Name and labels as promtool and OpenMetrics write them."""
        labels = ",".join(f'{key}="{value}"' for key, value in self.labels.items())
        return f"{self.name}{{{labels}}}"

    def notation(self) -> str:
        """The samples in promtool's notation: equal ones in a row once, with their number."""
        runs = ((value, len(list(run))) for value, run in groupby(self.samples))
        return " ".join(" ".join(_run(value, times)) for value, times in runs)


def _run(value: Value, times: int) -> list[str]:
    """Of a number the first comes on top of those that are counted, of a gap it does not."""
    if value == STALE:
        return [STALE] * times
    return [f"{value}x{times if value == GAP else times - 1}"]


def steady(value: float, minutes: int = 60) -> tuple[Value, ...]:
    """The same value in every scrape."""
    return (float(value),) * (minutes * MINUTE + 1)


def growing(per_second: float, minutes: int = 60) -> tuple[Value, ...]:
    """A counter."""
    return tuple(per_second * STEP_SECONDS * step for step in range(minutes * MINUTE + 1))


def then(*parts: tuple[Value, int]) -> tuple[Value, ...]:
    """Values one after the other, each for its minutes."""
    return tuple(value for value, minutes in parts for _ in range(minutes * MINUTE))


def turn(position: int, of: int, samples: tuple[Value, ...]) -> tuple[Value, ...]:
    """The samples that fall to one of several series that take turns."""
    place = [(step - position) % of for step in range(len(samples))]
    given = zip(place, samples, strict=True)
    return tuple({0: value, 1: STALE}.get(since, GAP) for since, value in given)


@dataclass(frozen=True, kw_only=True)
class Device:
    """A GPU of a node, or a MIG instance of it, and the pod that the exporter says holds it."""

    node: str
    index: int
    pod: str = ""
    namespace: str = "research"
    profile: str = ""
    instance: str = ""
    exporter: str = "nvidia-dcgm-exporter-x7k2p"

    def series(
        self, field: str, samples: tuple[Value, ...], extra: Mapping[str, str] | None = None
    ) -> Series:
        """A DCGM field of the device."""
        return Series(name=field, labels={**self._labels(), **(extra or {})}, samples=samples)

    def _labels(self) -> dict[str, str]:
        number = f"{self.index}"
        mig = {"GPU_I_PROFILE": self.profile, "GPU_I_ID": self.instance} if self.profile else {}
        held = {
            "exported_container": "main",
            "exported_namespace": self.namespace,
            "exported_pod": self.pod,
        }
        return {
            "gpu": number,
            "UUID": f"GPU-{self.node}-{number}",
            "pci_bus_id": f"00000000:{0x1B + self.index:02X}:00.0",
            "device": f"nvidia{number}",
            "modelName": "NVIDIA H200",
            **mig,
            "hostname": self.node,
            "DCGM_FI_DRIVER_VERSION": "570.195.03",
            **(held if self.pod else {}),
            # the target: the exporter's pod, behind the Service that the ServiceMonitor selects
            "node": self.node,
            "namespace": "gpu-operator",
            "pod": self.exporter,
            "container": "nvidia-dcgm-exporter",
            "service": "nvidia-dcgm-exporter",
            "endpoint": "gpu-metrics",
            "job": "nvidia-dcgm-exporter",
            "instance": f"10.244.{len(self.node)}.9:9400",
        }


def activity(
    devices: Sequence[Device], samples: tuple[Value, ...], field: str = "GR_ENGINE_ACTIVE"
) -> list[Series]:
    """A ratio of the profiler for each device."""
    return [device.series(f"DCGM_FI_PROF_{field}", samples) for device in devices]


def temperature(device: Device, samples: tuple[Value, ...]) -> Series:
    """What the exporter shows of every GPU that it sees."""
    return device.series("DCGM_FI_DEV_GPU_TEMP", samples)


def last_xid(device: Device, samples: tuple[Value, ...]) -> Series:
    """The gauge with the code of the last XID, 0 before the first."""
    return device.series("DCGM_FI_DEV_XID_ERRORS", samples)


def xid_count(device: Device, xid: int | None, samples: tuple[Value, ...]) -> Series:
    """The exporter's own count of one code within its window; without any, there is no label."""
    code = {} if xid is None else {"xid": str(xid)}
    extra = {"window_size_in_ms": _XID_WINDOW_MS, **code}
    return device.series("DCGM_EXP_XID_ERRORS_COUNT", samples, extra)


def placed_pages(node: str, *, hit: float, miss: float, minutes: int = 60) -> Iterator[Series]:
    """The node exporter's counters for two NUMA nodes, whose number is its label `node`."""
    target = {
        "kubernetes_node": node,
        "instance": "10.10.0.11:9100",
        "job": "node-exporter",
        "namespace": "monitoring",
        "pod": "kube-prometheus-stack-prometheus-node-exporter-t5s9x",
        "container": "node-exporter",
        "service": "kube-prometheus-stack-prometheus-node-exporter",
        "endpoint": "http-metrics",
    }
    for number in ("0", "1"):
        for kind, per_second in (("hit", hit / 2), ("miss", miss / 2), ("foreign", miss / 2)):
            yield Series(
                name=f"node_memory_numa_numa_{kind}_total",
                labels={**target, "node": number},
                samples=growing(per_second, minutes),
            )
    yield Series(name="node_vmstat_numa_pages_migrated", labels=target, samples=growing(3, minutes))


def pod_groups(queue: str, *, pending: int, inqueue: int, running: int) -> Iterator[Series]:
    """What Volcano's controller says of a queue."""
    target = {
        "job": "volcano-controllers-service",
        "service": "volcano-controllers-service",
        "namespace": "volcano-system",
        "pod": "volcano-controllers-6d5f8b7c9-q2w4e",
        "instance": "10.244.3.8:8081",
        "endpoint": "metrics",
    }
    for state, number in (("pending", pending), ("inqueue", inqueue), ("running", running)):
        yield Series(
            name=f"volcano_queue_pod_group_{state}_count",
            labels={"queue_name": queue, **target},
            samples=steady(number),
        )
