"""The rule on plain manifests: buckets that nobody else reads."""

from typing import Any

import pytest

from policies.rules.isolation.object_store import RULE

Object = dict[str, Any]
BUCKET = "aws:s3/bucket:Bucket"
BLOCK = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"
ENCRYPTION = (
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"
)
FLAGS = ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")


def resource(kind: str, **spec: object) -> Object:
    return {"kind": kind, "metadata": {"name": "models"}, "spec": {"bucket": "models-1", **spec}}


PRIVATE = resource(BLOCK, **dict.fromkeys(FLAGS, True))
ENCRYPTED = resource(
    ENCRYPTION, rules=[{"applyServerSideEncryptionByDefault": {"sseAlgorithm": "AES256"}}]
)


def told(manifest: Object, *stack: Object) -> list[str]:
    assert RULE.predicate is not None
    assert RULE.across is not None
    return [*RULE.predicate(manifest, {}), *RULE.across(manifest, {}, [manifest, *stack])]


@pytest.mark.parametrize("kind", [BUCKET, "aws:s3/bucketV2:BucketV2"])
def test_a_bucket_needs_a_block_and_encryption_of_its_own(kind: str) -> None:
    bucket = resource(kind)
    block = f"{kind} 'models' must have a public access block for it in the stack."
    encryption = f"{kind} 'models' must have a configuration of its encryption in the stack."

    assert told(bucket) == [block, encryption]
    assert told(bucket, PRIVATE) == [encryption]
    assert told(bucket, ENCRYPTED) == [block]
    assert told(bucket, PRIVATE, ENCRYPTED) == []


def test_those_of_another_bucket_and_an_empty_one_do_not_count() -> None:
    elsewhere = resource(BLOCK, **dict.fromkeys(FLAGS, True), bucket="other")

    assert len(told(resource(BUCKET), elsewhere, ENCRYPTED)) == 1
    assert len(told(resource(BUCKET), PRIVATE, resource(ENCRYPTION, rules=[]))) == 1


@pytest.mark.parametrize("flag", FLAGS)
def test_a_block_blocks_all_of_it(flag: str) -> None:
    assert told({**PRIVATE, "spec": {**PRIVATE["spec"], flag: False}}) == [
        f"{BLOCK} 'models' must set {flag}."
    ]
    missing = {key: value for key, value in PRIVATE["spec"].items() if key != flag}
    assert told({**PRIVATE, "spec": missing}) == [f"{BLOCK} 'models' must set {flag}."]
    assert told(PRIVATE) == []


@pytest.mark.parametrize("kind", [BUCKET, "aws:s3/bucketAcl:BucketAcl"])
def test_no_acl_lets_everybody_in(kind: str) -> None:
    said = f"{kind} 'models' must not have an ACL that lets everybody in."

    assert said in told(resource(kind, acl="public-read"))
    assert said not in told(resource(kind, acl="private"))
