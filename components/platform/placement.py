"""Where the fleet's own services run: never on a GPU node, never on one that Karpenter may take."""

from collections.abc import Sequence

from settings.names import PREFIX


def system_affinity(pools: Sequence[str]) -> dict[str, object]:
    """The affinity of a controller to the pools without GPUs; with none of those, to owned nodes.

    GPU nodes are tainted besides, so a controller without that toleration stays off them.
    """
    expressions: list[dict[str, object]] = [
        {"key": "karpenter.sh/nodepool", "operator": "DoesNotExist"}
    ]
    if pools:
        expressions.append({"key": f"{PREFIX}/pool", "operator": "In", "values": list(pools)})
    terms = [{"matchExpressions": expressions}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"nodeAffinity": required}
