"""Boot data of AWS machines that cannot be in their user data: objects that only they can read.

An EC2NodeClass can be read in the cluster, so its user data must not hold a join token. The join
part is in a bucket, where fleet-join-tokens writes it with a new token every few hours, and beside
it a plain part that is too long for user data. The user data has no digest of the join part: so a
new token changes no EC2NodeClass, and TLS and the bucket's rights vouch for it. Why so:
docs/decisions/0003.
"""

import json

import pulumi
from pulumi_aws import iam, s3

from components.pools.boot import Cluster, PoolBoot, payload
from components.private_bucket import private_bucket
from ignition.write.payload import EC2_LIMIT_BYTES, Merge, Payload, sha512
from settings.names import tags

KEY = "join.ign"


class AwsBootData(pulumi.ComponentResource):
    """A private, encrypted bucket with the boot data, and a role that may read its objects only.

    Bucket, role and profile have fixed names, so that the user data is known at preview.
    """

    user_data: str
    instance_profile: pulumi.Output[str]

    def __init__(
        self, name: str, boot: PoolBoot, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:pools:AwsBootData", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        tagged = tags(boot.cluster.name, boot.pool.labels)
        fitting = _payload(boot)
        stored = fitting.stored
        # what fleet-join-tokens writes is no resource, and nothing in it is worth keeping
        bucket = private_bucket(
            name, bucket_name(boot.cluster, boot.pool.name), tagged, child, disposable=True
        )
        if stored is not None:
            s3.BucketObjectv2(
                f"{name}-plain",
                bucket=bucket.bucket,
                key=plain_key(boot),
                content=stored,
                content_type="application/json",
                server_side_encryption="AES256",
                tags=tagged,
                opts=child,
            )
        keys = (KEY,) if stored is None else (KEY, plain_key(boot))
        profile = _node_role(name, boot, keys, tagged, child)
        self.user_data = fitting.user_data
        self.instance_profile = profile.name
        self.register_outputs({"instanceProfile": self.instance_profile})


def bucket_name(cluster: Cluster, pool: str) -> str:
    """Return a globally unique name: it has the start of the hash of the cluster's certificate."""
    certificate = cluster.ca_cert_hash.removeprefix("sha256:")[:12]
    return f"{cluster.name}-{pool}-{certificate}"


def node_role(cluster: str, pool: str) -> str:
    """Return the name of the role, and of the instance profile, of a pool's machines."""
    return f"{cluster}-{pool}-node"


def plain_key(boot: PoolBoot) -> str:
    """Return a key for this text alone, so that a new one overwrites nothing that machines read."""
    return f"plain-{sha512(boot.ignition)[:16]}.ign"


def _payload(boot: PoolBoot) -> Payload:
    bucket = bucket_name(boot.cluster, boot.pool.name)
    join = Merge(source=f"s3://{bucket}/{KEY}")
    store = f"s3://{bucket}/{plain_key(boot)}"
    return payload(boot, join, limit_bytes=EC2_LIMIT_BYTES, store=store)


def _node_role(
    name: str,
    boot: PoolBoot,
    keys: tuple[str, ...],
    tagged: dict[str, str],
    child: pulumi.ResourceOptions,
) -> iam.InstanceProfile:
    role_name = node_role(boot.cluster.name, boot.pool.name)
    role = iam.Role(
        f"{name}-role",
        name=role_name,
        description=f"Machines of the pool {boot.pool.name}: they read their boot data and no more",
        assume_role_policy=json.dumps(_trust("ec2.amazonaws.com")),
        tags=tagged,
        opts=child,
    )
    iam.RolePolicy(
        f"{name}-read",
        role=role.name,
        name="read-boot-data",
        policy=json.dumps(_read(bucket_name(boot.cluster, boot.pool.name), keys)),
        opts=child,
    )
    return iam.InstanceProfile(
        f"{name}-profile", name=role_name, role=role.name, tags=tagged, opts=child
    )


def _trust(service: str) -> dict[str, object]:
    return {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
        ],
    }


def _read(bucket: str, keys: tuple[str, ...]) -> dict[str, object]:
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Action": "s3:GetObject",
                "Resource": [f"arn:aws:s3:::{bucket}/{key}" for key in keys],
            }
        ],
    }
