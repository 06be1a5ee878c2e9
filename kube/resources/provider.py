"""The frame of the dynamic providers that act in the cluster.

They read the kubeconfig from the configuration, which the engine hands every dynamic provider and
keeps encrypted once, beside its provider. So no resource keeps it, a new one changes no resource,
and deletions without the program use the one of the last update (pulumi.com, "Dynamic resource
providers", configuration).
"""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from httpx2 import HTTPError
from lightkube import Client
from lightkube.core.exceptions import ApiError
from pulumi.dynamic import ConfigureRequest, DiffResult, ResourceProvider

from kube.client import KubeError, client

T = TypeVar("T")

KUBECONFIG = "gpu-fleet:kubeconfig"
PROVIDER_KEY = "__provider"  # where Pulumi keeps which class serves a dynamic resource
DELETE_UNREACHABLE = "PULUMI_K8S_DELETE_UNREACHABLE"
"""The variable by which the kubernetes provider, too, forgets what is in a cluster that is gone."""


class ClusterProvider(ResourceProvider):
    """A provider whose refusals are sentences, without a traceback.

    It works on a twin as on the real cluster: there is an API server in both.
    """

    serialize_as_secret_always = False  # it captures nothing

    kubeconfig: str

    def configure(self, req: ConfigureRequest) -> None:
        """Keep the kubeconfig; keep the host of providers from printing tracebacks of refusals."""
        self.kubeconfig = str(req.config.get(KUBECONFIG) or "")
        for name in ("create", "read", "update", "delete"):
            setattr(self, name, _without_traceback(getattr(self, name)))

    def cluster(self) -> Client:
        """Return a client of the cluster; raises KubeError where the kubeconfig is none."""
        return client(self.kubeconfig)


def difference(
    olds: dict[str, Any],
    news: dict[str, Any],
    *,
    updates: Sequence[str] = (),
    replaces: Sequence[str] = (),
) -> DiffResult:
    """Compare the inputs that update a resource, and those that replace it.

    Another class that serves the resource is an update: the state must name the one of today.
    """
    forcing = [key for key in replaces if olds.get(key) != news.get(key)]
    changed = any(olds.get(key) != news.get(key) for key in (*updates, PROVIDER_KEY))
    return DiffResult(changes=changed or bool(forcing), replaces=forcing)


def in_cluster(act: Callable[[], None]) -> None:
    """Act in the cluster as a resource is deleted; raises KubeError where that is not possible.

    Does nothing where the cluster is gone for good and the user has said so.
    """
    try:
        act()
    except ApiError as error:
        raise _refused(error) from None
    except HTTPError as error:
        if os.environ.get(DELETE_UNREACHABLE) == "true":
            return
        raise KubeError(
            f"The API server does not answer ({type(error).__name__}). Where the cluster is gone "
            f"for good, set {DELETE_UNREACHABLE}=true and run the command again."
        ) from None


def _without_traceback(method: Callable[..., T]) -> Callable[..., T]:
    """Return the method with refusals of the API server as KubeErrors, which have no traceback."""

    def call(*arguments: object) -> T:
        sys.tracebacklimit = 1000
        try:
            return method(*arguments)
        except (KubeError, ApiError, HTTPError) as error:
            sys.tracebacklimit = 0
            raise _refused(error) from None

    return call


def _refused(error: KubeError | ApiError | HTTPError) -> KubeError:
    if isinstance(error, KubeError):
        return error
    if isinstance(error, ApiError):
        return KubeError(f"The API server refuses it: {error.status.message}.")
    return KubeError(
        f"The API server does not answer ({type(error).__name__}): run the same command again."
    )
