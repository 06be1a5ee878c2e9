"""Starts Karpenter as the Deployment of its chart would, with its calls to AWS sent to the twin's.

The program is the AWS provider's own main package, unchanged. Its settings are the environment
variables of the chart's container; replicas and leader election are off, because one process runs.
"""

import base64
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rehearsal.api import Api
from rehearsal.control_plane import free_port
from rehearsal.karpenter.chart_values import variables
from rehearsal.karpenter.server import ADDRESS
from rehearsal.processes import Processes
from rehearsal.providers import cloud
from settings.names import RELEASE

NAME = "karpenter"
STARTED_WITH = "karpenter.json"
FOREIGN = ("AWS_", "KUBE")


@dataclass(frozen=True, kw_only=True)
class Controller:
    """Karpenter in the cluster of one rehearsal; `program` is its binary."""

    api: Api
    processes: Processes
    program: Path

    def step(self) -> bool:
        """Start it once its Release is there, anew where that changes; end it with the Release."""
        release = self._release()
        wanted = None if release is None else json.dumps(release, sort_keys=True)
        mark = self.processes.directory / STARTED_WITH
        running = mark.read_text(encoding="utf-8") if mark.exists() else None
        if wanted == running:
            return False
        self.processes.end(NAME)
        mark.unlink(missing_ok=True)
        if release is not None and wanted is not None:
            self._start(release)
            mark.write_text(wanted)
        return True

    def _start(self, release: dict[str, Any]) -> None:
        directory = self.processes.directory
        secrets = self._secrets(release["namespace"], release["values"])
        base = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}
        own = {
            "KUBECONFIG": str(directory / "kubeconfig"),
            "DISABLE_LEADER_ELECTION": "true",
            "METRICS_PORT": str(free_port()),
            "HEALTH_PROBE_PORT": str(free_port()),
            "AWS_ENDPOINT_URL": (directory / ADDRESS).read_text(encoding="utf-8"),
            # the accounts of whoever rehearses are never asked
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        given = {**secrets, **variables(release["values"], release["namespace"])}
        self.processes.start(NAME, (self.program,), env={**base, **given, **own}, cwd=directory)

    def _release(self) -> dict[str, Any] | None:
        for thing in cloud.read(self.processes.directory):
            if thing.type == RELEASE and thing.inputs.get("name") == NAME:
                inputs: dict[str, Any] = dict(thing.inputs)
                return {key: inputs.get(key) or {} for key in ("namespace", "values", "version")}
        return None

    def _secrets(self, namespace: str, values: Mapping[str, Any]) -> dict[str, str]:
        """The entries of the Secrets that the container takes as variables."""
        found: dict[str, str] = {}
        for source in values.get("controller", {}).get("envFrom", []):
            name = source["secretRef"]["name"]
            secret = self.api.get(f"/api/v1/namespaces/{namespace}/secrets/{name}") or {}
            for key, value in (secret.get("data") or {}).items():
                found[key] = base64.b64decode(value).decode()
        return found
