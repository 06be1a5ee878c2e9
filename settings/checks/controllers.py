"""The check that something can run the cluster's own controllers."""

from collections.abc import Iterator, Mapping

from settings.names import PROJECT
from settings.problems import Mistake
from settings.resolved import ResolvedPool


def controller_mistakes(pools: Mapping[str, ResolvedPool]) -> Iterator[str]:
    """Yield an environment in which no node ever takes a pod that tolerates nothing.

    Such are the pods of all charts that the program installs, Karpenter's controller among them.
    """
    if not pools or any(not pool.rented and not pool.hardware.gpu_count for pool in pools.values()):
        return
    rented = " and ".join(name for name, pool in pools.items() if pool.rented)
    tainted = " and ".join(name for name, pool in pools.items() if not pool.rented)
    why = [f"the nodes of {tainted} take only pods that tolerate nvidia.com/gpu"] if tainted else []
    if rented:
        why.append(f"the machines of {rented} are made by Karpenter, which must run before them")
    yield Mistake(
        f"{PROJECT}:pools",
        f" has no pool that can run the cluster's own controllers: "
        f"{', and '.join(why)}; allowed: a pool of your own or at Hetzner besides, with hardware "
        "without GPUs, such as kind hetzner with ccx33.",
    )
