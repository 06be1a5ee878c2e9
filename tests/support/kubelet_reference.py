"""kubelet's own code, asked whether it would start with a configuration on a machine."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from hardware.catalogue import Hardware
from rehearsal.kubelet import machine
from toolchain.build import ensure

# what kubeadm init writes into the ConfigMap kubelet-config, as far as it matters here
BASE = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "authentication": {
        "anonymous": {"enabled": False},
        "webhook": {"cacheTTL": "0s", "enabled": True},
        "x509": {"clientCAFile": "/etc/kubernetes/pki/ca.crt"},
    },
    "authorization": {"mode": "Webhook"},
    "cgroupDriver": "systemd",
    "clusterDNS": ["10.96.0.10"],
    "clusterDomain": "cluster.local",
    "containerRuntimeEndpoint": "",
    "cpuManagerReconcilePeriod": "0s",
    "evictionPressureTransitionPeriod": "0s",
    # kubeadm writes no such line: the computer of the test may have control groups v1, no node has
    "failCgroupV1": False,
    "healthzBindAddress": "127.0.0.1",
    "healthzPort": 10248,
    "logging": {"flushFrequency": 0, "options": {"json": {"infoBufferSize": "0"}}, "verbosity": 0},
    "memorySwap": {},
    "rotateCertificates": True,
    "shutdownGracePeriod": "0s",
    "shutdownGracePeriodCriticalPods": "0s",
    "staticPodPath": "/etc/kubernetes/manifests",
    "syncFrequency": "0s",
}


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Why kubelet would not start, and what it passes over; both empty where all is well."""

    error: str
    ignored: str


def verdicts(
    patches: Sequence[Mapping[str, Any] | str], hardware: Hardware | None = None
) -> list[Verdict]:
    """What kubelet says of its configuration with each merge patch, in the same order.

    Its CPU, memory and Topology Manager are asked where a machine is given.
    """
    node = None if hardware is None else machine(hardware, {})
    questions = [
        json.dumps(
            {
                "base": json.dumps(BASE),
                "patches": [patch if isinstance(patch, str) else json.dumps(patch)],
                "node": node,
            }
        )
        for patch in patches
    ]
    done = subprocess.run(
        [_program(), "config"],
        input="\n".join(questions),
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(patches)
    return [
        Verdict(error=each.get("error", ""), ignored=each.get("ignored", "")) for each in answers
    ]


@cache
def _program() -> str:
    return str(ensure(("kubelet-shapes",), console=None).path("kubelet-shapes"))
