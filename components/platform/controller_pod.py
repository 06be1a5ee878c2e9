"""What the small Python programs of ours that run in the cluster have in common.

Each is one file in a ConfigMap, which a pod of Python's image runs under an account of its own.
What it may do beyond RBAC's words is kept by an admission policy.
"""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import pulumi
from pulumi_kubernetes.admissionregistration.v1 import (
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    ValidatingAdmissionPolicySpecArgsDict,
)
from pulumi_kubernetes.core.v1 import (
    ConfigMap,
    ContainerArgsDict,
    PodSpecArgsDict,
    VolumeArgsDict,
    VolumeMountArgsDict,
)
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

from settings.names import PROGRAM_LABEL

FOLDER = "/program"
"""Where a container finds the program, and the texts beside it."""
MOUNT: VolumeMountArgsDict = {"name": "program", "mount_path": FOLDER, "read_only": True}


@dataclass(frozen=True, kw_only=True)
class Program:
    """A program by its name in the cluster, and texts that it reads, by their file names."""

    name: str
    file: str
    content: bytes = field(repr=False)
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Eight digits that change with the program and its texts."""
        return hashlib.sha256(self.content + "".join(self.texts.values()).encode()).hexdigest()[:8]

    @property
    def command(self) -> list[str]:
        """What starts it; Python reads no file but those of its own and of the program."""
        return ["python3", "-I", f"{FOLDER}/{self.file}"]

    @property
    def labels(self) -> dict[str, str]:
        """What its pods are found by."""
        return {PROGRAM_LABEL: self.name}


def config_map(
    name: str, program: Program, namespace: pulumi.Input[str], opts: pulumi.ResourceOptions
) -> ConfigMap:
    """Register the code. Another program has another name, so that its pods are replaced."""
    return ConfigMap(
        f"{name}-program",
        metadata=ObjectMetaArgs(name=f"{program.name}-{program.digest}", namespace=namespace),
        immutable=True,
        data=program.texts or None,
        binary_data={program.file: base64.b64encode(program.content).decode()},
        opts=opts,
    )


def volume(code: ConfigMap) -> VolumeArgsDict:
    """Return the volume with the code, which `MOUNT` mounts."""
    return {"name": MOUNT["name"], "config_map": {"name": code.metadata["name"]}}


def limits(
    name: str,
    policy_name: str,
    spec: ValidatingAdmissionPolicySpecArgsDict,
    opts: pulumi.ResourceOptions,
) -> list[pulumi.Resource]:
    """Register an admission policy that denies; pods that come before it could do anything."""
    policy = ValidatingAdmissionPolicy(
        f"{name}-policy", metadata=ObjectMetaArgs(name=policy_name), spec=spec, opts=opts
    )
    binding = ValidatingAdmissionPolicyBinding(
        f"{name}-policy-binding",
        metadata=ObjectMetaArgs(name=policy_name),
        spec={"policy_name": policy.metadata["name"], "validation_actions": ["Deny"]},
        opts=opts,
    )
    return [policy, binding]


def restricted_pod(
    program: Program, code: ConfigMap, container: ContainerArgsDict
) -> PodSpecArgsDict:
    """Return a pod of Pod Security `restricted` whose `container` runs the program."""
    return {
        "service_account_name": program.name,
        "priority_class_name": "system-cluster-critical",
        "security_context": {
            "run_as_non_root": True,
            "run_as_user": 65534,
            "seccomp_profile": {"type": "RuntimeDefault"},
        },
        "termination_grace_period_seconds": 5,
        "containers": [
            {
                **container,
                "security_context": {
                    "allow_privilege_escalation": False,
                    "capabilities": {"drop": ["ALL"]},
                    "read_only_root_filesystem": True,
                },
                "volume_mounts": [MOUNT],
            }
        ],
        "volumes": [volume(code)],
    }
