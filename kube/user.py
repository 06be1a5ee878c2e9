"""A client with the access of the person who runs a command: their own kubeconfig."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from httpx2 import Client as HttpClient
from lightkube import Client

from kube.client import NOT_READABLE, KubeError, connected, http_client, reason
from kube.kinds import KubeConfig

Made = TypeVar("Made")


def users_client(*, timeout_s: float = 30.0) -> Client:
    """Return a client of the current context of $KUBECONFIG, or of ~/.kube/config without it.

    The stack's kubeconfig stays where it is: a person acts in their own name, which the cluster's
    audit log then has. Raises KubeError where there is no such file.
    """
    need = "change BareMetalHosts and Nodes"
    return _made("", need, lambda found: connected(found, timeout_s))


def users_http_client(
    *, kubeconfig: str = "", context: str = "", timeout_s: float = 60.0
) -> HttpClient:
    """Return an HTTP client of a context, by default the current one.

    Without a `kubeconfig` it is that of `users_client`.
    """
    need = "list the objects of the cluster"
    return _made(kubeconfig, need, lambda found: http_client(found, context or None, timeout_s))


def _made(named: str, need: str, make: Callable[[KubeConfig], Made]) -> Made:
    other = "name another with --kubeconfig" if named else "set KUBECONFIG to another"
    named = named or os.environ.get("KUBECONFIG", "")
    path = Path(named or "~/.kube/config").expanduser()
    if os.pathsep in named:
        raise KubeError(f"KUBECONFIG names several files ({named}): set it to one of them.")
    if not path.is_file():
        raise KubeError(
            f"{path} is not there: set KUBECONFIG to the kubeconfig with which you may {need}."
        )
    try:
        return make(KubeConfig.from_file(path))
    except NOT_READABLE as error:
        raise KubeError(f"{path} cannot be read ({reason(error)}): {other}.") from None
