"""The Nodes of a cluster: which are Ready, and the wait until all of some are."""

from collections.abc import Sequence
from functools import partial

from lightkube import Client
from lightkube.core.exceptions import ApiError
from lightkube.models.core_v1 import NodeCondition

from kube.client import KubeError
from kube.kinds import Node
from kube.waiting import Say, duration, wait

NOT_FOUND = 404
SIMULATED = "kwok.x-k8s.io/node"
"""The annotation of a Node without machine and kubelet, which kwok keeps Ready in a rehearsal."""
SHOWN = 3


def ready_condition(node: Node) -> NodeCondition | None:
    """Return the condition Ready of a Node; None where its kubelet has reported nothing yet."""
    conditions = (node.status.conditions if node.status else None) or []
    return next((each for each in conditions if each.type == "Ready"), None)


def is_ready(node: Node) -> bool:
    """Return whether the kubelet of a Node says that it is Ready."""
    condition = ready_condition(node)
    return condition is not None and condition.status == "True"


def is_simulated(node: Node) -> bool:
    """Return whether no machine is behind a Node, so that its pods end but print nothing."""
    return SIMULATED in ((node.metadata.annotations if node.metadata else None) or {})


def find(client: Client, name: str) -> Node | None:
    """Return the Node; None where there is none of that name."""
    try:
        return client.get(Node, name)
    except ApiError as error:
        if error.status.code == NOT_FOUND:
            return None
        raise


def delete(client: Client, name: str) -> None:
    """Delete the Node; nothing happens where there is none."""
    try:
        client.delete(Node, name)
    except ApiError as error:
        if error.status.code != NOT_FOUND:
            raise


def wait_until_ready(client: Client, names: Sequence[str], *, timeout_s: float, tell: Say) -> None:
    """Return when every Node is Ready.

    Raises KubeError with the Nodes that are not and their own words, after `timeout_s`.
    """
    lacking = wait(partial(_not_ready, client, names), timeout_s=timeout_s, tell=tell)
    if lacking:
        raise KubeError(
            f"After {duration(timeout_s)} {lacking}. Look at the machine's console; the next "
            "`pulumi up` waits again."
        )


def _not_ready(client: Client, names: Sequence[str]) -> str | None:
    reasons = {name: _reason(find(client, name)) for name in names}
    waiting = {name: reason for name, reason in reasons.items() if reason}
    if not waiting:
        return None
    shown = [f"{name} ({reason})" for name, reason in list(waiting.items())[:SHOWN]]
    more = f" and {len(waiting) - SHOWN} more" if len(waiting) > SHOWN else ""
    counted = f"{len(names) - len(waiting)} of {len(names)} nodes are Ready"
    return f"{counted}; not yet: {', '.join(shown)}{more}"


def _reason(node: Node | None) -> str | None:
    if node is None:
        return "has not joined"
    if is_ready(node):
        return None
    condition = ready_condition(node)
    return (condition.message if condition else None) or "its kubelet has reported nothing"
