"""The Kubernetes objects that run the measurements on one node.

Jobs on one machine take all its GPUs and so wait for each other. The host's measurement starts its
container with containerd's own `ctr` in the mount namespace of the machine's first process: beside
Kubernetes, in no pod's cgroup or CPU set. Its pod is privileged and holds the GPUs meanwhile.
"""

import base64
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hardware.catalogue import Hardware
from settings.names import (
    ACCEPTANCE_NAMESPACE,
    GPU,
    POD_SECURITY,
    PREFIX,
    PROGRAM_LABEL,
    owner_labels,
)
from settings.versions import NCCL_IMAGE, PYTHON_IMAGE, PYTORCH_IMAGE
from workloads.acceptance.numa.program import FILE as PROBE
from workloads.acceptance.numa.program import program as probe

JOBS = ("nccl", "gemm-pod", "gemm-host", "tuned")
# enough for a process that feeds a GPU, whole cores, and less than any machine has
_CPUS_OF_A_GPU = 2
_GIB_OF_A_GPU = 16
Manifest = dict[str, Any]
_CODE = "/code"
_SCRIPTS = ("gemm.py", "tuned.py")
_KUBELET = "/var/lib/kubelet/pods"


def manifests(hardware: Hardware, node: str) -> list[Manifest]:
    """Returns a namespace without ingress, the code, four Jobs and the NUMA probe's DaemonSet."""
    return [
        _object(
            "v1",
            "Namespace",
            {
                "name": ACCEPTANCE_NAMESPACE,
                "labels": {POD_SECURITY: "privileged"},
            },
        ),
        {
            **_object("networking.k8s.io/v1", "NetworkPolicy", _named("no-way-in")),
            "spec": {"podSelector": {}, "policyTypes": ["Ingress"]},
        },
        {
            **_object("v1", "ConfigMap", _named("code")),
            "data": {
                name: Path(__file__).with_name(name).read_text(encoding="utf-8")
                for name in _SCRIPTS
            },
            "binaryData": {PROBE: base64.b64encode(probe()).decode()},
        },
        _job("nccl", hardware, node, _nccl(hardware)),
        _job("gemm-pod", hardware, node, _script("gemm", "gemm.py")),
        _job("gemm-host", hardware, node, _gemm_on_host(), privileged=True),
        _job("tuned", hardware, node, _script("tuned", "tuned.py")),
        _probe(node),
    ]


def _object(version: str, kind: str, metadata: Mapping[str, Any]) -> Manifest:
    return {"apiVersion": version, "kind": kind, "metadata": dict(metadata)}


def _named(name: str) -> dict[str, str]:
    return {"name": name, "namespace": ACCEPTANCE_NAMESPACE}


def _nccl(hardware: Hardware) -> Manifest:
    sizes = ["-b", "512M", "-e", "8G", "-f", "2", "-g", str(hardware.gpu_count), "-n", "20"]
    return {
        "name": "nccl",
        "image": NCCL_IMAGE,
        "command": ["/opt/nccl_tests/build/all_reduce_perf", *sizes],
        # ranks of one process exchange through shared memory where there is no NVLink
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],  # noqa: S108  # glibc's
    }


def _script(name: str, file: str) -> Manifest:
    return {
        "name": name,
        "image": PYTORCH_IMAGE,
        "command": ["python", f"{_CODE}/{file}"],
        "volumeMounts": [
            {"name": "code", "mountPath": _CODE},
            {"name": "shm", "mountPath": "/dev/shm"},  # noqa: S108  # as for all_reduce_perf
        ],
    }


def _gemm_on_host() -> Manifest:
    # the pod's own image is in containerd by now; its volume is where the kubelet put it
    script = f"{_KUBELET}/$(POD_UID)/volumes/kubernetes.io~configmap/code/gemm.py"
    ctr = ["ctr", "--namespace", "k8s.io", "run", "--rm"]
    runtime = ["--runc-binary", "/usr/bin/nvidia-container-runtime"]
    environment = ["--env", "NVIDIA_VISIBLE_DEVICES=all", "--env", "NVIDIA_DRIVER_CAPABILITIES=all"]
    mount = ["--mount", f"type=bind,src={script},dst=/gemm.py,options=rbind:ro"]
    # containerd knows an image that was pulled by tag and digest by its digest alone
    image = "@".join((PYTORCH_IMAGE.split(":")[0], PYTORCH_IMAGE.split("@")[1]))
    command = [image, "fleet-acceptance-$(POD_UID)", "python", "/gemm.py"]
    return {
        "name": "gemm",
        "image": PYTORCH_IMAGE,
        "command": ["nsenter", "--target", "1", "--mount", "--"],
        "args": [*ctr, *runtime, *environment, *mount, *command],
        "env": [{"name": "POD_UID", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}],
        "volumeMounts": [{"name": "code", "mountPath": _CODE}],
    }


def _job(
    name: str, hardware: Hardware, node: str, container: Manifest, *, privileged: bool = False
) -> Manifest:
    asked = {
        GPU: str(hardware.gpu_count),
        "cpu": str(_CPUS_OF_A_GPU * hardware.gpu_count),
        "memory": f"{_GIB_OF_A_GPU * hardware.gpu_count}Gi",
    }
    container = {**container, "resources": {"requests": asked, "limits": asked}}
    if privileged:
        container["securityContext"] = {"privileged": True}
    spec = {
        **_pod(node, container),
        "restartPolicy": "Never",
        "hostPID": privileged,
        "volumes": [
            {"name": "code", "configMap": {"name": "code"}},
            {"name": "shm", "emptyDir": {"medium": "Memory"}},
        ],
    }
    return {
        **_object("batch/v1", "Job", _named(f"{name}-{node}")),
        "spec": {
            "backoffLimit": 0,
            "activeDeadlineSeconds": 3600,
            "ttlSecondsAfterFinished": 86400,
            "template": {"metadata": {"labels": _pays(name)}, "spec": spec},
        },
    }


def _pays(experiment: str) -> dict[str, str]:
    """Returns the labels by which a pod with GPUs is paid."""
    own = {"project": "acceptance", "experiment": experiment, "branch": "main"}
    named = {f"{PREFIX}/{key}": value for key, value in own.items()}
    return {**owner_labels("platform", "platform"), **named}


def _pod(node: str, container: Manifest) -> Manifest:
    return {
        "nodeSelector": {"kubernetes.io/hostname": node},
        # a machine that is accepted again after a repair is tainted still, or cordoned
        "tolerations": [{"operator": "Exists"}],
        "containers": [container],
    }


def probe_name(node: str) -> str:
    """Returns the name of the DaemonSet of one machine's NUMA probe."""
    return f"numa-{node}"


def _probe(node: str) -> Manifest:
    """The DaemonSet of the probe on the machine: a pod without requests, bound to no NUMA node."""
    container = {
        "name": "probe",
        "image": PYTHON_IMAGE,
        "command": ["python3", "-I", f"{_CODE}/{PROBE}", "--stay"],
        "env": [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        # a seccomp profile lets nobody bind memory without it
        "securityContext": {"capabilities": {"add": ["SYS_NICE"]}},
        "volumeMounts": [{"name": "code", "mountPath": _CODE}],
    }
    code = {"name": "code", "configMap": {"name": "code"}}
    spec = {**_pod(node, container), "volumes": [code]}
    labels = {PROGRAM_LABEL: probe_name(node)}
    return {
        **_object("apps/v1", "DaemonSet", _named(probe_name(node))),
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def collecting(node: str) -> str:
    """Returns shell lines that wait for the measurements and write <name>.log for each."""
    kubectl = f"kubectl --namespace {ACCEPTANCE_NAMESPACE}"
    lines = ["set -eu"]
    for name in JOBS:
        job = shlex.quote(f"job/{name}-{node}")
        # a Job that failed has a log too, and the judge says what it lacks
        lines += [
            f"{kubectl} wait --for=condition=complete --timeout=30m {job} || true",
            f"{kubectl} logs {job} > {name}.log || true",
        ]
    probe = f"daemonset/{probe_name(node)}"
    lines += [
        f"{kubectl} rollout status --timeout=10m {probe}",
        f"{kubectl} logs {probe} > numa.log",
        f"kubectl delete namespace {ACCEPTANCE_NAMESPACE} --wait=false",
    ]
    return "\n".join(lines) + "\n"
