"""fleet-join-tokens: deletes the tokens of machines that have joined, and renews burst pools' own.

One Deployment and its rights: it lists certificate requests, which say what tokens were used, and
it may make and delete Secrets of one type in kube-system, which an admission policy holds it to. It
reads no Secret. Where a pool is on AWS, it has a key that writes one object for each such pool.
Why so: docs/decisions/0017.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_aws import iam
from pulumi_kubernetes.admissionregistration.v1 import (
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    ValidatingAdmissionPolicySpecArgsDict,
)
from pulumi_kubernetes.apps.v1 import Deployment
from pulumi_kubernetes.core.v1 import (
    ConfigMap,
    ContainerArgsDict,
    Namespace,
    PodSpecArgsDict,
    Secret,
    ServiceAccount,
)
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs
from pulumi_kubernetes.networking.v1 import NetworkPolicy
from pulumi_kubernetes.rbac.v1 import (
    ClusterRole,
    ClusterRoleBinding,
    PolicyRuleArgsDict,
    Role,
    RoleBinding,
    SubjectArgsDict,
)

from components.pools.aws_boot import KEY, bucket_name
from components.pools.boot import SAMPLE_TOKEN, Cluster, join_ignition_of
from kube.resources.join_seed import JoinSeed
from settings.names import (
    BURST_POOLS,
    JOIN_TOKENS_NAMESPACE,
    KUBE_SYSTEM,
    POD_SECURITY,
    PREFIX,
    tags,
)
from settings.versions import PYTHON_IMAGE
from workloads.controllers.join_tokens.burst import JOINERS
from workloads.controllers.join_tokens.program import FILE, program

NAME = "fleet-join-tokens"
_PROGRAM = "/program"
_ACCOUNT = f"system:serviceaccount:{JOIN_TOKENS_NAMESPACE}:{NAME}"
_TYPE = "bootstrap.kubernetes.io/token"

CLUSTER_RULES: list[PolicyRuleArgsDict] = [
    {
        "api_groups": ["certificates.k8s.io"],
        "resources": ["certificatesigningrequests"],
        "verbs": ["list"],
    },
    {"api_groups": [""], "resources": ["nodes"], "verbs": ["get"]},
]
TOKEN_RULES: list[PolicyRuleArgsDict] = [
    {"api_groups": [""], "resources": ["secrets"], "verbs": ["create", "delete"]}
]
LEASE_RULES: list[PolicyRuleArgsDict] = [
    {
        "api_groups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "verbs": ["list", "get", "create", "update", "delete"],
    }
]


@dataclass(frozen=True, kw_only=True)
class JoinTokensArgs:
    """The cluster; `burst` are the pools whose machines Karpenter launches in `region`."""

    cluster: Cluster
    region: str | None
    burst: Sequence[str]


class JoinTokens(pulumi.ComponentResource):
    """The seed of machines' tokens; the program, the account with its limits, and its key."""

    seed: pulumi.Output[str]

    def __init__(
        self, name: str, args: JoinTokensArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:platform:JoinTokens", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        self.seed = JoinSeed(f"{name}-seed", child).seed
        space = Namespace(
            f"{name}-namespace",
            metadata=ObjectMetaArgs(
                name=JOIN_TOKENS_NAMESPACE,
                labels={POD_SECURITY: "restricted"},
            ),
            opts=child,
        )
        within = space.metadata["name"]
        content, pools = program(), burst_pools(args)
        digest = hashlib.sha256(content + pools.encode()).hexdigest()[:8]
        code = ConfigMap(
            f"{name}-program",
            # another program or pool is another name, so that the pod is replaced
            metadata=ObjectMetaArgs(name=f"{NAME}-{digest}", namespace=within),
            immutable=True,
            data={BURST_POOLS: pools},
            binary_data={FILE: base64.b64encode(content).decode()},
            opts=child,
        )
        account = ServiceAccount(
            f"{name}-account", metadata=ObjectMetaArgs(name=NAME, namespace=within), opts=child
        )
        NetworkPolicy(
            f"{name}-network",
            metadata=ObjectMetaArgs(name="nobody-calls", namespace=within),
            spec={"pod_selector": {}, "policy_types": ["Ingress"]},
            opts=child,
        )
        limits = self._limits(name, child)
        self._rights(name, account, child)
        key = self._access(name, args, within, child) if args.burst else None
        labelled = {f"{PREFIX}/program": NAME}
        Deployment(
            f"{name}-pod",
            # the seed comes first of all, and this pod runs when there is a machine for it
            metadata=ObjectMetaArgs(
                name=NAME, namespace=within, annotations={"pulumi.com/skipAwait": "true"}
            ),
            spec={
                "replicas": 1,
                # two that renew at once would write one object with two tokens
                "strategy": {"type": "Recreate"},
                "selector": {"match_labels": labelled},
                "template": {
                    "metadata": {
                        "labels": labelled,
                        # a pod reads its environment once: another key must start another pod
                        **({"annotations": {f"{PREFIX}/access-key": key.id}} if key else {}),
                    },
                    "spec": pod(PYTHON_IMAGE, code.metadata["name"], with_key=key is not None),
                },
            },
            # without its limits it could make any Secret
            opts=pulumi.ResourceOptions.merge(child, pulumi.ResourceOptions(depends_on=limits)),
        )
        self.register_outputs({"digest": digest})

    def _limits(self, name: str, child: pulumi.ResourceOptions) -> list[pulumi.Resource]:
        limit = ValidatingAdmissionPolicy(
            f"{name}-policy", metadata=ObjectMetaArgs(name=NAME), spec=policy(), opts=child
        )
        binding = ValidatingAdmissionPolicyBinding(
            f"{name}-policy-binding",
            metadata=ObjectMetaArgs(name=NAME),
            spec={"policy_name": limit.metadata["name"], "validation_actions": ["Deny"]},
            opts=child,
        )
        return [limit, binding]

    def _rights(self, name: str, account: ServiceAccount, child: pulumi.ResourceOptions) -> None:
        metadata = ObjectMetaArgs(name=NAME)
        role = ClusterRole(f"{name}-role", metadata=metadata, rules=CLUSTER_RULES, opts=child)
        subject: SubjectArgsDict = {
            "kind": "ServiceAccount",
            "name": account.metadata["name"],
            "namespace": account.metadata["namespace"],
        }
        ClusterRoleBinding(
            f"{name}-role-binding",
            metadata=metadata,
            role_ref={
                "api_group": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": role.metadata["name"],
            },
            subjects=[subject],
            opts=child,
        )
        places: list[tuple[str, pulumi.Input[str], list[PolicyRuleArgsDict]]] = [
            ("tokens", KUBE_SYSTEM, TOKEN_RULES),
            ("leases", account.metadata["namespace"], LEASE_RULES),
        ]
        for purpose, space, rules in places:
            there = ObjectMetaArgs(name=NAME, namespace=space)
            role_there = Role(f"{name}-{purpose}", metadata=there, rules=rules, opts=child)
            RoleBinding(
                f"{name}-{purpose}-binding",
                metadata=there,
                role_ref={
                    "api_group": "rbac.authorization.k8s.io",
                    "kind": "Role",
                    "name": role_there.metadata["name"],
                },
                subjects=[subject],
                opts=child,
            )

    def _access(
        self,
        name: str,
        args: JoinTokensArgs,
        within: pulumi.Input[str],
        child: pulumi.ResourceOptions,
    ) -> iam.AccessKey:
        """Register a user that may write the objects alone, and the Secret with its key."""
        tagged = tags(args.cluster.name, {})
        named = f"{args.cluster.name}-join-tokens"
        user = iam.User(f"{name}-user", name=named, tags=tagged, opts=child)
        allowed = iam.Policy(
            f"{name}-write",
            name=named,
            policy=json.dumps(_write([bucket_name(args.cluster, pool) for pool in args.burst])),
            tags=tagged,
            opts=child,
        )
        iam.UserPolicyAttachment(
            f"{name}-write-attached", user=user.name, policy_arn=allowed.arn, opts=child
        )
        key = iam.AccessKey(f"{name}-key", user=user.name, opts=child)
        made: pulumi.Input[str] = key.secret
        Secret(
            f"{name}-secret",
            metadata=ObjectMetaArgs(name=NAME, namespace=within),
            string_data={
                "AWS_ACCESS_KEY_ID": key.id,
                "AWS_SECRET_ACCESS_KEY": pulumi.Output.secret(made),
            },
            opts=child,
        )
        return key


def burst_pools(args: JoinTokensArgs) -> str:
    """Return what the program reads of the burst pools, as JSON; it holds no secret."""
    found = []
    for pool in args.burst:
        bucket = bucket_name(args.cluster, pool)
        url = f"https://{bucket}.s3.{args.region}.amazonaws.com/{KEY}"
        template = join_ignition_of(args.cluster, None, SAMPLE_TOKEN)
        found.append(
            {
                "name": pool,
                "source": f"s3://{bucket}/{KEY}",
                "url": url,
                "region": args.region,
                "template": template,
                "digest": hashlib.sha256(f"{url}\n{template}".encode()).hexdigest()[:16],
            }
        )
    return json.dumps(found)


def pod(image: str, code: pulumi.Input[str], *, with_key: bool) -> PodSpecArgsDict:
    """Return the spec of the pod; `code` is the name of the ConfigMap with the program."""
    container: ContainerArgsDict = {
        "name": "join-tokens",
        "image": image,
        "command": ["python3", "-I", f"{_PROGRAM}/{FILE}"],
        "args": [f"--pools={_PROGRAM}/{BURST_POOLS}", f"--namespace={JOIN_TOKENS_NAMESPACE}"],
        "security_context": {
            "allow_privilege_escalation": False,
            "capabilities": {"drop": ["ALL"]},
            "read_only_root_filesystem": True,
        },
        "resources": {
            "requests": {"cpu": "10m", "memory": "64Mi"},
            "limits": {"memory": "128Mi"},
        },
        "volume_mounts": [{"name": "program", "mount_path": _PROGRAM, "read_only": True}],
    }
    if with_key:
        container["env_from"] = [{"secret_ref": {"name": NAME}}]
    return {
        "service_account_name": NAME,
        "priority_class_name": "system-cluster-critical",
        "security_context": {
            "run_as_non_root": True,
            "run_as_user": 65534,
            "seccomp_profile": {"type": "RuntimeDefault"},
        },
        "termination_grace_period_seconds": 5,
        "containers": [container],
        "volumes": [{"name": "program", "config_map": {"name": code}}],
    }


def policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the spec of the policy that keeps the program to tokens of joining nodes.

    RBAC does not know the type of a Secret.
    """
    joiners = base64.b64encode(JOINERS.encode()).decode()
    return {
        "failure_policy": "Fail",
        "match_constraints": {
            "resource_rules": [
                {
                    "api_groups": [""],
                    "api_versions": ["v1"],
                    "operations": ["CREATE", "DELETE"],
                    "resources": ["secrets"],
                }
            ]
        },
        "match_conditions": [
            {"name": "the-program", "expression": f"request.userInfo.username == '{_ACCOUNT}'"}
        ],
        "validations": [
            {
                "expression": (
                    f"(request.operation == 'DELETE' ? oldObject : object).type == '{_TYPE}'"
                ),
                "message": f"{NAME} must touch no Secret but bootstrap tokens",
            },
            {
                "expression": (
                    "request.operation == 'DELETE' || "
                    "(object.?data[?'expiration'].hasValue() && "
                    # to an expression the data of a Secret is its base64
                    f"object.?data[?'auth-extra-groups'].orValue('') == '{joiners}')"
                ),
                "message": f"{NAME} must make tokens that end and that join nodes, and no others",
            },
        ],
    }


def _write(buckets: Sequence[str]) -> dict[str, object]:
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "WriteJoinParts",
                "Effect": "Allow",
                "Action": "s3:PutObject",
                "Resource": [f"arn:aws:s3:::{bucket}/{KEY}" for bucket in buckets],
            }
        ],
    }
