"""The bucket of an AWS site in which lakeFS keeps what it versions: private and encrypted."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import pulumi

from components.private_bucket import private_bucket


@dataclass(frozen=True, kw_only=True)
class ObjectStoreArgs:
    """`bucket` is its name in the world. Without `kms_key_arn` S3 encrypts with keys of its own."""

    bucket: str
    kms_key_arn: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", self.bucket):
            raise ValueError(
                f"bucket is {self.bucket!r}; allowed: 3 to 63 of a-z, 0-9, '.' and '-'."
            )


class ObjectStore(pulumi.ComponentResource):
    """A bucket that is never public, only encrypted, and only reached over TLS.

    It has no S3 versioning: lakeFS never overwrites an object, and a second history would keep what
    its garbage collection has removed. A bucket with objects in it is never deleted.
    """

    bucket: pulumi.Output[str]
    storage_namespace: pulumi.Output[str]
    """Of the whole bucket; each repository takes a prefix of it that no other has ever had."""

    def __init__(
        self, name: str, args: ObjectStoreArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:platform:ObjectStore", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        bucket = private_bucket(name, args.bucket, args.tags, child, kms_key_arn=args.kms_key_arn)
        self.bucket = bucket.bucket
        self.storage_namespace = pulumi.Output.concat("s3://", bucket.bucket)
        self.register_outputs({"storageNamespace": self.storage_namespace})
