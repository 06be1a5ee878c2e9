"""Karpenter's access to AWS: a user with the rights that Karpenter needs, and its key.

Outside EKS there is neither pod identity nor, without a public issuer of the cluster's tokens, a
role for a service account, and the SDK's chain of credentials begins with these two variables.
The key is made here: nobody copies it, the state holds it encrypted, the cluster in one Secret.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_aws import iam
from pulumi_kubernetes.core.v1 import Secret
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

from components.platform.karpenter import policies
from settings.names import tags


@dataclass(frozen=True, kw_only=True)
class KarpenterAccessArgs:
    """The names of the pools' machine roles, and of the queue with the warnings."""

    cluster: str
    region: str
    queue: str
    roles: Sequence[str]
    namespace: str


class KarpenterAccess(pulumi.ComponentResource):
    """A user with two policies, its access key, and the Secret from which the controller reads it.

    A new key is made before the old one goes: `pulumi up --replace` on it is the rotation.
    """

    secret_name: pulumi.Output[str]
    key_id: pulumi.Output[str]

    def __init__(
        self, name: str, args: KarpenterAccessArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:platform:KarpenterAccess", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        tagged = tags(args.cluster, {})
        user = iam.User(f"{name}-user", name=f"{args.cluster}-karpenter", tags=tagged, opts=child)
        documents = {
            "lifecycle": policies.lifecycle(args.cluster, args.region, args.roles),
            "discovery": policies.discovery(args.region, args.queue),
        }
        # managed ones: the inline policies of a user have 2,048 characters in all
        for purpose, document in documents.items():
            policy = iam.Policy(
                f"{name}-{purpose}",
                name=f"{args.cluster}-karpenter-{purpose}",
                policy=json.dumps(document),
                tags=tagged,
                opts=child,
            )
            iam.UserPolicyAttachment(
                f"{name}-{purpose}-attached", user=user.name, policy_arn=policy.arn, opts=child
            )
        key = iam.AccessKey(f"{name}-key", user=user.name, opts=child)
        made: pulumi.Input[str] = key.secret
        secret = Secret(
            f"{name}-secret",
            metadata=ObjectMetaArgs(name="karpenter-aws", namespace=args.namespace),
            string_data={
                "AWS_ACCESS_KEY_ID": key.id,
                "AWS_SECRET_ACCESS_KEY": pulumi.Output.secret(made),
            },
            opts=child,
        )
        self.secret_name = secret.metadata["name"]
        self.key_id = key.id
        self.register_outputs({"keyId": self.key_id})
