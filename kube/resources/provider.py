"""The frame of resources that act in the cluster of the stack's kubeconfig."""

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from httpx2 import HTTPError
from lightkube.core.exceptions import ApiError
from pulumi.dynamic import ConfigureRequest, ResourceProvider

from kube.client import KubeError

T = TypeVar("T")

KUBECONFIG = "kubeconfig"
PROVIDER_KEY = "__provider"  # where Pulumi keeps which class serves a dynamic resource
DELETE_UNREACHABLE = "PULUMI_K8S_DELETE_UNREACHABLE"
"""The variable by which the kubernetes provider, too, forgets what is in a cluster that is gone."""

Properties = Mapping[str, Any]


class KubeProvider(ResourceProvider):
    """A provider whose refusals are sentences, without a traceback.

    A subclass says nothing of its kubeconfig in `diff` but that it has changed: what acts when it
    is deleted must have today's.
    """

    serialize_as_secret_always = False  # it captures nothing; the kubeconfig is an input

    def configure(self, req: ConfigureRequest) -> None:  # noqa: ARG002  # called by the host alone
        """Keep the host of dynamic providers from printing a traceback for a KubeError."""
        for name in ("create", "update", "delete"):
            setattr(self, name, without_traceback(getattr(self, name)))


def in_cluster(act: Callable[[], None]) -> None:
    """Act in the cluster as a resource is deleted; raises KubeError where that is not possible.

    Does nothing where the cluster is gone for good and the user has said so.
    """
    try:
        act()
    except ApiError as error:
        raise KubeError(f"The API server refuses it: {error.status.message}.") from None
    except HTTPError as error:
        if os.environ.get(DELETE_UNREACHABLE) == "true":
            return
        raise KubeError(
            f"The API server does not answer ({type(error).__name__}). Where the cluster is gone "
            f"for good, set {DELETE_UNREACHABLE}=true and run the command again."
        ) from None


def without_traceback(method: Callable[..., T]) -> Callable[..., T]:
    """Return the method with refusals of the API server as KubeErrors, which have no traceback."""

    def call(*arguments: object) -> T:
        sys.tracebacklimit = 1000
        try:
            return method(*arguments)
        except KubeError:
            sys.tracebacklimit = 0
            raise
        except ApiError as error:
            sys.tracebacklimit = 0
            raise KubeError(f"The API server refuses it: {error.status.message}.") from None
        except HTTPError as error:
            sys.tracebacklimit = 0
            raise KubeError(
                f"The API server does not answer ({type(error).__name__}): run the same command "
                "again."
            ) from None

    return call
