"""The machines that Karpenter has rented: stops new ones, ends those there are, counts them.

A NodeClaim stands for one machine. It has a finalizer that Karpenter removes when the machine is
drained and terminated (karpenter v1.14.1, pkg/controllers/nodeclaim/lifecycle/controller.go), so
that a NodeClaim that is gone is a machine that is no longer paid for.
"""

from collections.abc import Callable, Sequence
from functools import partial

from lightkube import Client
from lightkube.core.exceptions import ApiError
from lightkube.types import CascadeType, PatchType

from kube.client import KubeError
from kube.kinds import GenericGlobalResource, NodeClaim, NodePool
from kube.waiting import Say, duration, wait

POOL_OF_CLAIM = "karpenter.sh/nodepool"
GPUS = "nvidia.com/gpu"
TAKEN_OVER = "pulumi-kubernetes"
"""A field manager whose fields the engine's provider takes back when it next writes the object.

Of any other it would refuse the limit that the stack file says as a conflict, and a pool whose end
was called off could not be kept (fixCSAFieldManagers and patchForce in provider/pkg/await/await.go
of pulumi-kubernetes)."""
NOT_FOUND = 404
SHOWN = 5


def stop_renting(client: Client, pools: Sequence[str]) -> None:
    """Set the GPU limit of each NodePool that is there to 0, so that no further machine comes."""
    nothing = {"spec": {"limits": {GPUS: "0"}}}
    for pool in pools:
        patch = partial(client.patch, patch_type=PatchType.MERGE, field_manager=TAKEN_OVER)
        _unless_gone(partial(patch, NodePool, pool, nothing))


def end_machines(client: Client, pools: Sequence[str], *, timeout_s: float, tell: Say) -> None:
    """Stop renting, delete every NodeClaim of the pools, and return when the last is gone.

    Karpenter drains each machine first, for as long as the pool's terminationGracePeriod. Raises
    KubeError where some are left after `timeout_s`: they stay Karpenter's, and no new ones come.
    """
    stop_renting(client, pools)
    lacking = wait(partial(_ending, client, pools), timeout_s=timeout_s, tell=tell)
    if lacking:
        raise KubeError(
            f"After {duration(timeout_s)} {lacking}. Nothing is lost: Karpenter still manages "
            "them, and the limits of their NodePools are 0. Look with `kubectl describe nodeclaim` "
            "for what holds them and with `kubectl --namespace kube-system get deployment "
            "karpenter` whether Karpenter runs, then run the same command again. To keep the pool "
            "instead, put it back into the stack file, then `pulumi refresh` and `pulumi up`."
        )


def _ending(client: Client, pools: Sequence[str]) -> str | None:
    """Delete the NodeClaims that are not being deleted yet, and say which are left."""
    left = [claim for claim in _listed(client, NodeClaim) if _pool(claim) in pools]
    for claim in left:
        if claim.metadata and claim.metadata.deletionTimestamp is None:
            delete = partial(client.delete, NodeClaim, cascade=CascadeType.BACKGROUND)
            _unless_gone(partial(delete, _name(claim)))
    if not left:
        return None
    machines = sorted(map(_name, left))
    more = f" and {len(machines) - SHOWN} more" if len(machines) > SHOWN else ""
    counted = "1 rented machine is" if len(left) == 1 else f"{len(left)} rented machines are"
    return f"{counted} still there: {', '.join(machines[:SHOWN])}{more}"


def _listed(client: Client, kind: type[GenericGlobalResource]) -> list[GenericGlobalResource]:
    try:
        return list(client.list(kind))
    except ApiError as error:
        if error.status.code == NOT_FOUND:  # Karpenter's kinds are not in this cluster
            return []
        raise


def _unless_gone(act: Callable[[], object]) -> None:
    try:
        act()
    except ApiError as error:
        if error.status.code != NOT_FOUND:
            raise


def _name(found: GenericGlobalResource) -> str:
    return str(found.metadata.name if found.metadata else "")


def _pool(claim: GenericGlobalResource) -> str:
    labels = (claim.metadata.labels if claim.metadata else None) or {}
    return str(labels.get(POOL_OF_CLAIM, ""))
