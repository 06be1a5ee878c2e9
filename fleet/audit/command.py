"""Reads and judges a cluster, and says meanwhile what it reads."""

from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from fleet.audit.cluster import read_cluster
from fleet.audit.judging import Audited, audit
from kube.listing import Lister
from kube.user import users_http_client
from policies.environment import load
from settings import stack_file


def audited_cluster(
    root: Path, environment: str, *, kubeconfig: str, context: str, strict: bool
) -> Audited:
    """Audit the cluster of a kubeconfig; KubeError or SettingsError where that cannot be."""
    rules = load(stack_file(root, environment)).rules
    progress = Console(stderr=True, emoji=False)
    with (
        users_http_client(kubeconfig=kubeconfig, context=context) as http,
        progress.status("reading the cluster") as status,
    ):
        cluster = read_cluster(
            Lister(http=http), rules, lambda what: status.update(f"reading {what}")
        )
        status.update(f"judging {len(cluster.read.objects)} objects")
        return audit(environment, rules, cluster, datetime.now(UTC), strict=strict)
