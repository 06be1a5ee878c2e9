"""Recording rules on money: USD per hour by pool, team and branch, and a branch's cost so far."""

from collections.abc import Mapping
from dataclasses import dataclass

from policies.gates.prometheus_rule import EVALUATION_SECONDS, Recording

BRANCH_DAYS = 30
"""How far back a branch's cost is added up; Prometheus must keep its series for longer."""


@dataclass(frozen=True, kw_only=True)
class PoolGpus:
    """The GPUs of one machine of a pool; `usd_per_gpu_hour` is None where no price is known."""

    gpus_per_node: int
    usd_per_gpu_hour: float | None

    def __post_init__(self) -> None:
        if self.gpus_per_node < 1:
            raise ValueError(
                f"gpus_per_node is {self.gpus_per_node}; allowed: 1 or more, for a pool without "
                "GPUs has no place in the GPU rules."
            )
        if self.usd_per_gpu_hour is not None and self.usd_per_gpu_hour < 0:
            raise ValueError(f"usd_per_gpu_hour is {self.usd_per_gpu_hour}; allowed: 0 or more.")


def catalogue(pools: Mapping[str, PoolGpus]) -> tuple[Recording, ...]:
    """Returns the figures of each pool's hardware as series that the other rules join."""
    counts = tuple(
        Recording(
            name="pool:gpus_per_node:count",
            expression=f"vector({gpus.gpus_per_node})",
            labels={"pool": pool},
            why="GPUs of a machine of the pool.",
        )
        for pool, gpus in pools.items()
    )
    prices = tuple(
        Recording(
            name="pool:usd_per_gpu_hour:price",
            expression=f"vector({gpus.usd_per_gpu_hour})",
            labels={"pool": pool},
            why="What an hour of one GPU of the pool costs, in USD.",
        )
        for pool, gpus in pools.items()
        if gpus.usd_per_gpu_hour is not None
    )
    return counts + prices


_PRICED = "* on (pool) group_left () pool:usd_per_gpu_hour:price"

COST_RECORDINGS = (
    Recording(
        name="pool:gpu_usd_per_hour:sum",
        expression=f"sum by (pool) (node:gpus:count {_PRICED})",
        why="What the pool's machines cost, used or not.",
    ),
    Recording(
        name="pod:gpu_usd_per_hour:sum",
        expression=f"pod:gpus_held:sum {_PRICED}",
        why="What a pod's GPUs cost.",
    ),
    Recording(
        name="team:gpu_usd_per_hour:sum",
        expression="sum by (team, cost_centre) (pod:gpu_usd_per_hour:sum)",
        why="What a team's running pods cost.",
    ),
    Recording(
        name="branch:gpu_usd_per_hour:sum",
        expression='sum by (branch) (pod:gpu_usd_per_hour:sum{branch!=""})',
        why="What the running pods of a lakeFS branch cost.",
    ),
    Recording(
        name="branch:gpu_usd:sum30d",
        # a sample stands for one evaluation: what runs while Prometheus is down is not counted
        expression=(
            f"sum_over_time(branch:gpu_usd_per_hour:sum[{BRANCH_DAYS}d]) "
            f"* {EVALUATION_SECONDS} / 3600"
        ),
        why="What a branch has cost in 30 days, in USD.",
    ),
)
