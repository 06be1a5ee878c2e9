"""Karpenter's access to AWS: a user with the rights that Karpenter needs, and its key.

Outside EKS there is neither pod identity nor, without a public issuer of the cluster's tokens, a
role for a service account, and the SDK's chain of credentials begins with these two variables.
The key is made here: nobody copies it, the state holds it encrypted, the cluster in one Secret.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

from components.platform import aws_user
from components.platform.karpenter import policies


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
        documents = {
            "lifecycle": policies.lifecycle(args.cluster, args.region, args.roles),
            "discovery": policies.discovery(args.region, args.queue),
        }
        named = f"{args.cluster}-karpenter"
        allowed = {
            purpose: aws_user.policy(f"{named}-{purpose}", args.cluster, document)
            for purpose, document in documents.items()
        }
        key = aws_user.access_key(name, named, args.cluster, allowed, child)
        metadata = ObjectMetaArgs(name="karpenter-aws", namespace=args.namespace)
        secret = aws_user.key_secret(name, metadata, key, child)
        self.secret_name = secret.metadata["name"]
        self.key_id = key.id
        self.register_outputs({"keyId": self.key_id})
