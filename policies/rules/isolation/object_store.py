"""A bucket must be private and encrypted, by settings that stand beside it in the stack.

Private is a public access block with all four of its settings; encrypted is a configuration of
encryption on the server. Both are found by the name of the bucket. AWS has such defaults for new
buckets since 2023; written down they hold for an old account, and a change of them is reviewed.
"""

from collections.abc import Sequence

from policies.language.manifest import at, describe, items
from policies.language.rule import Manifest, Rule, Settings

ID = "isolation/object-store"
_BUCKETS = ("aws:s3/bucket:Bucket", "aws:s3/bucketV2:BucketV2")
_ACLS = ("aws:s3/bucketAcl:BucketAcl", "aws:s3/bucketAclV2:BucketAclV2")
_BLOCK = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"
_ENCRYPTION = (
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
    "aws:s3/bucketServerSideEncryptionConfigurationV2:BucketServerSideEncryptionConfigurationV2",
)
_FLAGS = ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")
_PUBLIC = ("authenticated-read", "public-read", "public-read-write")
_MUST_ACL = "must not have an ACL that lets everybody in."
_MUST_BLOCK = "must have a public access block for it in the stack."
_MUST_ENCRYPT = "must have a configuration of its encryption in the stack."
_MUST_FLAGS = "must set {}."


def violations(manifest: Manifest, _settings: Settings) -> list[str]:
    """Returns what opens a bucket to everybody."""
    kind, spec = manifest.get("kind"), manifest.get("spec")
    if kind in (*_BUCKETS, *_ACLS):
        return [f"{describe(manifest)} {_MUST_ACL}"] if at(spec, "acl") in _PUBLIC else []
    if kind != _BLOCK:
        return []
    missing = [flag for flag in _FLAGS if at(spec, flag) is not True]
    return [f"{describe(manifest)} {_MUST_FLAGS.format(' and '.join(missing))}"] if missing else []


def across(manifest: Manifest, _settings: Settings, stack: Sequence[Manifest]) -> list[str]:
    """Returns what a bucket has nothing of in its stack."""
    if manifest.get("kind") not in _BUCKETS:
        return []
    name, found = at(manifest, "spec", "bucket"), []
    if not _has(stack, (_BLOCK,), name):
        found.append(_MUST_BLOCK)
    own = at(manifest, "spec", "serverSideEncryptionConfiguration")
    if own is None and not _has(stack, _ENCRYPTION, name):
        found.append(_MUST_ENCRYPT)
    return [f"{describe(manifest)} {fault}" for fault in found]


def _has(stack: Sequence[Manifest], kinds: Sequence[str], bucket: object) -> bool:
    for each in stack:
        if each.get("kind") in kinds and at(each, "spec", "bucket") == bucket:
            encrypts = each["kind"] == _BLOCK or items(at(each, "spec", "rules"))
            if encrypts:
                return True
    return False


RULE = Rule(
    id=ID,
    sentence="A bucket must be private and encrypted.",
    why=(
        "Boot data with join tokens, market data and models lie in buckets, and one that somebody "
        "opens by an ACL or a policy is found within hours."
    ),
    source="https://docs.aws.amazon.com/AmazonS3/latest/userguide/access-control-block-public-access.html",
    predicate=violations,
    across=across,
)
