"""Karpenter, as the Deployment of its chart runs it, with its calls to AWS sent to the twin's.

The program is the AWS provider's own main package, unchanged. Of the container's variables these
alone differ: no leader is elected, as one replica runs; its ports are free ones; the address of AWS
is that of `rehearsal.karpenter.server`, and the accounts of whoever rehearses are never asked.
"""

import base64
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rehearsal.api import Api
from rehearsal.controllers.controller import Controller, Controllers
from rehearsal.controllers.pod import container
from rehearsal.controllers.ports import chosen_ports
from rehearsal.karpenter.server import ADDRESS

SYSTEM = "karpenter"
USES = ("metrics", "health")
_POWERS = {"": 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}


@dataclass(frozen=True, kw_only=True)
class Karpenter:
    """The controller of one Release, and the ports on which it serves."""

    release: str
    program: Path
    ports: Mapping[str, int]

    @classmethod
    def place(cls, release: str, program: Path, record: Path) -> "Karpenter":
        """Serve on the ports that `record` has, or on free ones that it gets."""
        return cls(release=release, program=program, ports=chosen_ports(record, USES))

    @staticmethod
    def names(release: str) -> list[str]:
        """The names of the controllers of a Release."""
        return [release]

    @property
    def services(self) -> Mapping[str, int]:
        """It has no webhook."""
        return {}

    def controllers(
        self, objects: Sequence[Mapping[str, Any]], place: Controllers
    ) -> list[Controller]:
        """The controller of the rendered Deployment; none where the twin rents nothing."""
        endpoint = place.directory / ADDRESS
        deployments = [each for each in objects if each["kind"] == "Deployment"]
        if not endpoint.exists() or not deployments:
            return []
        (deployment,) = deployments
        namespace = deployment["metadata"]["namespace"]
        spec = deployment["spec"]["template"]["spec"]
        (found,) = spec["containers"]
        given = {
            **_secrets(place.api, namespace, found),
            **container(spec, place.folder(self.release), {}).variables,
            **dict(_fields(found, namespace)),
        }
        own = {
            "KUBECONFIG": str(place.kubeconfig(self.release)),
            "DISABLE_LEADER_ELECTION": "true",
            "METRICS_PORT": str(self.ports["metrics"]),
            "HEALTH_PROBE_PORT": str(self.ports["health"]),
            "AWS_ENDPOINT_URL": endpoint.read_text(encoding="utf-8"),
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        return [
            Controller(
                name=self.release,
                system=SYSTEM,
                namespace=namespace,
                service_account=spec["serviceAccountName"],
                command=(str(self.program),),
                variables={**given, **own},
                port=self.ports["health"],
            )
        ]


def _secrets(api: Api, namespace: str, found: Mapping[str, Any]) -> dict[str, str]:
    """The keys of the Secrets that the container takes as variables."""
    names = [each["secretRef"]["name"] for each in found.get("envFrom") or ()]
    secrets = [api.get(f"/api/v1/namespaces/{namespace}/secrets/{name}") or {} for name in names]
    return {
        key: base64.b64decode(value).decode()
        for secret in secrets
        for key, value in (secret.get("data") or {}).items()
    }


def _fields(found: Mapping[str, Any], namespace: str) -> Iterator[tuple[str, str]]:
    """The variables that the kubelet takes from the pod: its namespace, requests and limits."""
    for each in found.get("env") or ():
        match each.get("valueFrom"):
            case {"fieldRef": {"fieldPath": "metadata.namespace"}}:
                yield each["name"], namespace
            case {"resourceFieldRef": {"resource": str(path), "divisor": divisor}}:
                kind, _, name = path.partition(".")
                amount = found.get("resources", {}).get(kind, {}).get(name)
                if amount is not None:
                    yield each["name"], _amount(str(amount), in_milli=divisor == "1m")


def _amount(text: str, *, in_milli: bool) -> str:
    """A quantity as the kubelet writes it: CPUs in thousandths, memory in bytes."""
    if in_milli:
        milli = float(text.removesuffix("m")) * (1 if text.endswith("m") else 1000)
        return str(int(milli))
    found = re.fullmatch(r"(\d+)(|Ki|Mi|Gi)", text)
    return str(int(found[1]) * _POWERS[found[2]]) if found else text
