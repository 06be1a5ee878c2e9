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
    ValidatingAdmissionPolicySpecArgsDict,
)
from pulumi_kubernetes.apps.v1 import Deployment
from pulumi_kubernetes.core.v1 import (
    ConfigMap,
    ContainerArgsDict,
    Namespace,
    PodSpecArgsDict,
    ServiceAccount,
)
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs
from pulumi_kubernetes.networking.v1 import NetworkPolicy
from pulumi_kubernetes.rbac.v1 import PolicyRuleArgsDict

from components.platform import aws_user, controller_pod
from components.platform.controller_pod import Program
from components.platform.rights import grant
from components.pools.aws_boot import KEY, bucket_name
from components.pools.boot import SAMPLE_TOKEN, Cluster, join_ignition_of
from kube.resources.join_seed import JoinSeed
from settings.names import (
    BURST_POOLS,
    JOIN_TOKENS_NAMESPACE,
    KUBE_SYSTEM,
    POD_SECURITY,
)
from settings.versions import PYTHON_IMAGE
from workloads.controllers.join_tokens.burst import JOINERS
from workloads.controllers.join_tokens.program import FILE, program

NAME = "fleet-join-tokens"
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
        joins = Program(
            name=NAME, file=FILE, content=program(), texts={BURST_POOLS: burst_pools(args)}
        )
        code = controller_pod.config_map(name, joins, within, child)
        account = ServiceAccount(
            f"{name}-account", metadata=ObjectMetaArgs(name=NAME, namespace=within), opts=child
        )
        NetworkPolicy(
            f"{name}-network",
            metadata=ObjectMetaArgs(name="nobody-calls", namespace=within),
            spec={"pod_selector": {}, "policy_types": ["Ingress"]},
            opts=child,
        )
        limits = controller_pod.limits(name, NAME, policy(), child)
        self._rights(name, account, child)
        key = self._access(name, args, within, child) if args.burst else None
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
                "selector": {"match_labels": joins.labels},
                "template": {
                    "metadata": {
                        "labels": joins.labels,
                        **({"annotations": aws_user.pod_annotations(key.id)} if key else {}),
                    },
                    "spec": _pod(joins, code, with_key=key is not None),
                },
            },
            # without its limits it could make any Secret
            opts=pulumi.ResourceOptions(parent=self, depends_on=limits),
        )
        self.register_outputs({"digest": joins.digest})

    def _rights(self, name: str, account: ServiceAccount, child: pulumi.ResourceOptions) -> None:
        everywhere = ObjectMetaArgs(name=NAME)
        grant(f"{name}-role", everywhere, CLUSTER_RULES, account, child)
        with_tokens = ObjectMetaArgs(name=NAME, namespace=KUBE_SYSTEM)
        grant(f"{name}-tokens", with_tokens, TOKEN_RULES, account, child)
        own = ObjectMetaArgs(name=NAME, namespace=account.metadata["namespace"])
        grant(f"{name}-leases", own, LEASE_RULES, account, child)

    def _access(
        self,
        name: str,
        args: JoinTokensArgs,
        within: pulumi.Input[str],
        child: pulumi.ResourceOptions,
    ) -> iam.AccessKey:
        """Register a user that may write the objects alone, and the Secret with its key."""
        named = f"{args.cluster.name}-join-tokens"
        document = _write([bucket_name(args.cluster, pool) for pool in args.burst])
        policies = {"write": aws_user.policy(named, args.cluster.name, document)}
        key = aws_user.access_key(name, named, args.cluster.name, policies, child)
        aws_user.key_secret(name, ObjectMetaArgs(name=NAME, namespace=within), key, child)
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


def _pod(joins: Program, code: ConfigMap, *, with_key: bool) -> PodSpecArgsDict:
    folder = controller_pod.FOLDER
    container: ContainerArgsDict = {
        "name": "join-tokens",
        "image": PYTHON_IMAGE,
        "command": joins.command,
        "args": [f"--pools={folder}/{BURST_POOLS}", f"--namespace={JOIN_TOKENS_NAMESPACE}"],
        "resources": {
            "requests": {"cpu": "10m", "memory": "64Mi"},
            "limits": {"memory": "128Mi"},
        },
    }
    if with_key:
        container["env_from"] = [{"secret_ref": {"name": NAME}}]
    return controller_pod.restricted_pod(joins, code, container)


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
