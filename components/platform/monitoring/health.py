"""Recording rules on the machines: memory placed on the wrong NUMA node, and XIDs by code."""

from collections.abc import Mapping

from components.platform.monitoring import promql
from policies.gates.prometheus_rule import Recording

HARDWARE_XIDS = {
    46: "the GPU stopped processing",
    48: "uncorrectable memory error",
    64: "a memory row could not be remapped",
    74: "NVLink error",
    79: "the GPU has fallen off the bus",
    95: "memory error that was not contained",
    119: "the GPU's system processor does not answer",
    120: "error in the GPU's system processor",
    140: "memory error without recovery",
}
"""Codes of https://docs.nvidia.com/deploy/xid-errors after which a GPU needs a reset or more."""

JOB_XIDS = {
    13: "exception in a kernel",
    31: "access to memory that is not the job's",
    43: "the job's channel was stopped after an error of its own",
    94: "memory error contained in the job",
}
"""The job died and its GPU is fine; 45 is left out, it comes with every job that is killed."""


def codes(xids: Mapping[int, str]) -> str:
    """Returns the codes as a pattern for the label `xid`."""
    return "|".join(str(code) for code in xids)


NEWS_MINUTES = 10
"""Longer than the five minutes in which the exporter counts XIDs, so that neither misses one."""
_GPU = "node, gpu, UUID"
_LAST = f"max by ({_GPU}) ({promql.LAST_XID})"
_LAST_BEFORE = f"max by ({_GPU}) ({promql.LAST_XID} offset {NEWS_MINUTES}m)"


def _by_node(expr: str) -> str:
    return promql.moved(expr, {"node": promql.NUMA_SCRAPE_NODE})


def _placed(kind: str, minutes: int) -> str:
    metric = f"node_memory_numa_numa_{kind}_total"
    return f"sum by ({promql.NUMA_SCRAPE_NODE}) (rate({metric}[{minutes}m]))"


def _missed(minutes: int) -> str:
    missed = _placed("miss", minutes)
    return _by_node(f"{missed} / ({missed} + {_placed('hit', minutes)})")


HEALTH_RECORDINGS = (
    Recording(
        name="node:numa_miss:ratio5m",
        expression=_missed(5),
        why="Share of new pages that a machine placed on another NUMA node than the one wanted.",
    ),
    Recording(
        name="node:numa_miss:ratio15m",
        expression=_missed(15),
        why="The same over the window that is judged.",
    ),
    Recording(
        name="node:numa_pages_migrated:rate5m",
        expression=_by_node(
            f"sum by ({promql.NUMA_SCRAPE_NODE}) (rate(node_vmstat_numa_pages_migrated[5m]))"
        ),
        why="Pages per second promql.moved between NUMA nodes; none with numa_balancing=disable.",
    ),
    Recording(
        name="gpu:xid:seen",
        # the gauge keeps the last code until its exporter starts again, long after the GPU's reset:
        # only what it did not show before is news
        expression=f"""
            group by ({_GPU}, xid) (count_values by ({_GPU}) ("xid",
                {_LAST} > 0 unless {_LAST} == {_LAST_BEFORE}
            ))
            or group by ({_GPU}, xid) ({promql.XID_COUNT}{{xid!~"0?"}} > 0)
        """,
        why="1 for each code that a GPU has just reported.",
    ),
)
