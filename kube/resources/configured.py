"""The frame of the dynamic providers that act in the cluster.

They read the kubeconfig from the configuration, which the engine hands every dynamic provider and
keeps encrypted once, beside its provider. So no resource keeps it, and deletions use the one of the
last update (pulumi.com, "Dynamic resource providers", configuration).
"""

from collections.abc import Callable
from typing import TypeVar

from pulumi.dynamic import ConfigureRequest, ResourceProvider

T = TypeVar("T")

KUBECONFIG = "gpu-fleet:kubeconfig"


class ClusterProvider(ResourceProvider):
    """A provider that works on a twin as on the real cluster: there is an API server in both."""

    serialize_as_secret_always = False  # it captures nothing

    kubeconfig: str

    def configure(self, req: ConfigureRequest) -> None:
        """Keep the kubeconfig; keep the host of providers from printing tracebacks of refusals."""
        self.kubeconfig = str(req.config.get(KUBECONFIG) or "")
        for name in ("create", "read", "update", "delete"):
            setattr(self, name, _without_traceback(getattr(self, name)))


def _without_traceback(method: Callable[..., T]) -> Callable[..., T]:
    def call(*arguments: object) -> T:
        # loaded where a resource really acts: a preview of no change needs no client
        from kube.resources.provider import without_traceback  # noqa: PLC0415  # as said

        return without_traceback(method)(*arguments)

    return call
