"""A user at AWS for a controller that runs outside AWS, and the Secret with its access key."""

import hashlib
import json
from collections.abc import Mapping

import pulumi
from pulumi_aws import iam
from pulumi_kubernetes.core.v1 import Secret
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

from settings.names import PREFIX, tags


def access_key(
    name: str,
    user_name: str,
    cluster: str,
    policies: Mapping[str, iam.PolicyArgs],
    opts: pulumi.ResourceOptions,
) -> iam.AccessKey:
    """Register a user with these policies, by what each is for, and return its key.

    They are managed ones: the inline policies of a user have 2,048 characters in all.
    """
    user = iam.User(f"{name}-user", name=user_name, tags=tags(cluster, {}), opts=opts)
    for purpose, args in policies.items():
        policy = iam.Policy(f"{name}-{purpose}", args, opts=opts)
        iam.UserPolicyAttachment(
            f"{name}-{purpose}-attached", user=user.name, policy_arn=policy.arn, opts=opts
        )
    return iam.AccessKey(f"{name}-key", user=user.name, opts=opts)


def policy(name: str, cluster: str, document: Mapping[str, object]) -> iam.PolicyArgs:
    """Return the policy of a user of the cluster."""
    return iam.PolicyArgs(name=name, policy=json.dumps(document), tags=tags(cluster, {}))


def pod_annotations(key_id: pulumi.Output[str]) -> dict[str, pulumi.Output[str]]:
    """Return the annotation of pods that read a key when they start: another key, other pods.

    It is a digest, for a key's ID looks like a secret to whoever searches for them.
    """
    return {f"{PREFIX}/access-key": key_id.apply(_digest)}


def _digest(key_id: str) -> str:
    return hashlib.sha256(key_id.encode()).hexdigest()[:16]


def key_secret(
    name: str, metadata: ObjectMetaArgs, key: iam.AccessKey, opts: pulumi.ResourceOptions
) -> Secret:
    """Register the Secret from which the controller reads the key."""
    made: pulumi.Input[str] = key.secret
    return Secret(
        f"{name}-secret",
        metadata=metadata,
        string_data={
            "AWS_ACCESS_KEY_ID": key.id,
            "AWS_SECRET_ACCESS_KEY": pulumi.Output.secret(made),
        },
        opts=opts,
    )
