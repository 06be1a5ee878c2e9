"""kured: reboots nodes into staged updates of Flatcar and Kubernetes, within a time window.

Locksmith is masked on nodes. A new release of the OS or of Kubernetes leaves /run/reboot-required,
and kured drains and reboots one node at a time (flatcar.org, "Getting started with Kubernetes").
"""

from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.helm.v3 import Release, RepositoryOptsArgs

from settings.names import KURED_NAMESPACE
from settings.reboots import Reboots
from settings.versions import KURED

JOBS = (
    "volcano.sh/job-name",
    "batch.kubernetes.io/job-name",
    "training.kubeflow.org/job-name",
    "jobset.sigs.k8s.io/jobset-name",
    "ray.io/cluster",
    "notebook-name",  # of Kubeflow
    "component=singleuser-server",  # of JupyterHub
)
"""The labels that controllers give to pods of jobs and notebooks: a reboot never ends one."""
CHECK_EVERY = "5m"  # a window is not missed by a check an hour
DRAIN_TIMEOUT = "1h"  # a drain that takes longer is given up, and tried again
LOCK_TTL = "3h"
"""A node that does not come back holds the lock for so long: longer than a drain and a boot."""


@dataclass(frozen=True, kw_only=True)
class KuredArgs:
    """With `window` None nodes may be rebooted at any time."""

    window: Reboots | None


class Kured(pulumi.ComponentResource):
    """The pinned chart; a node with a pod of a job or notebook waits until it has ended."""

    release: Release

    def __init__(
        self, name: str, args: KuredArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:platform:Kured", name, None, opts)
        self.release = Release(
            f"{name}-release",
            name="kured",
            namespace=KURED_NAMESPACE,
            create_namespace=True,
            chart=KURED.name,
            version=KURED.version,
            repository_opts=RepositoryOptsArgs(repo=KURED.repository),
            values={
                "configuration": {
                    "blockingPodSelector": list(JOBS),
                    "period": CHECK_EVERY,
                    "drainTimeout": DRAIN_TIMEOUT,
                    "lockTtl": LOCK_TTL,
                    **_times(args.window),
                },
                # control plane and GPU nodes have taints, and reboot like the others
                "tolerations": [{"operator": "Exists"}],
            },
            timeout=600,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.register_outputs({"version": KURED.version})


def _times(window: Reboots | None) -> dict[str, object]:
    if window is None:
        return {}
    return {
        "rebootDays": list(window.days),
        "startTime": window.start,
        "endTime": window.end,
        "timeZone": window.time_zone,
    }
