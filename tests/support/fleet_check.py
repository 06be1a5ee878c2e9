"""`fleet check` as a test runs it, and what it is run on."""

from typing import Any

from typer.testing import CliRunner, Result

from fleet.cli.main import app
from policies.rules.idle import gpu_node_pool as idle_gpu_node_pool

ID = idle_gpu_node_pool.RULE.id
LATE = "NodePool 'burst' has spec.disruption.consolidateAfter 60m; it must be at most 15m."
CONFIG_MAP: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}


def run(*arguments: str, stdin: str = "", env: str = "dev") -> Result:
    return CliRunner().invoke(app, ["check", "--env", env, *arguments], input=stdin)
