"""The bucket of a site, and the user that reads it."""

import json
from typing import Any

import pytest

from components.platform.lakefs.storage import (
    OBJECT_ACTIONS,
    LakefsAccess,
    LakefsAccessArgs,
    ObjectStore,
    ObjectStoreArgs,
    policy,
)
from tests.support.recorder import Registered, named, render


def store(**changes: Any) -> list[Registered]:
    args = ObjectStoreArgs(bucket="fleet-dev-us-east-1-lakefs", **changes)
    return render(lambda: ObjectStore("data", args) and None)


def one(resources: list[Registered], kind: str) -> Registered:
    (found,) = named(resources, kind).values()
    return found


def test_a_bucket_is_never_public() -> None:
    block = one(store(), "BucketPublicAccessBlock").inputs
    assert block["bucket"] == "fleet-dev-us-east-1-lakefs"
    switches = (
        "blockPublicAcls",
        "blockPublicPolicy",
        "ignorePublicAcls",
        "restrictPublicBuckets",
    )
    assert all(block[switch] is True for switch in switches)
    owner = one(store(), "BucketOwnershipControls").inputs
    assert owner["rule"] == {"objectOwnership": "BucketOwnerEnforced"}


def test_a_bucket_with_data_is_never_deleted() -> None:
    assert one(store(), "Bucket").inputs["forceDestroy"] is False


def encryption(**changes: Any) -> Any:
    rules: Any = one(store(**changes), "BucketServerSideEncryptionConfiguration").inputs["rules"]
    (rule,) = rules
    return rule


def test_a_bucket_is_encrypted_with_the_key_that_is_named_or_with_that_of_s3() -> None:
    assert encryption()["applyServerSideEncryptionByDefault"] == {"sseAlgorithm": "AES256"}
    named_key = encryption(kms_key_arn="arn:aws:kms:us-east-1:1:key/k")
    assert named_key["applyServerSideEncryptionByDefault"] == {
        "sseAlgorithm": "aws:kms",
        "kmsMasterKeyId": "arn:aws:kms:us-east-1:1:key/k",
    }
    assert named_key["bucketKeyEnabled"] is True


def test_a_bucket_is_reached_over_tls_alone() -> None:
    (statement,) = json.loads(str(one(store(), "BucketPolicy").inputs["policy"]))["Statement"]
    assert (statement["Effect"], statement["Principal"]) == ("Deny", "*")
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert "arn:aws:s3:::fleet-dev-us-east-1-lakefs/*" in statement["Resource"]


def test_two_settings_of_a_bucket_are_never_made_at_a_time() -> None:
    waits_for = one(store(), "BucketPolicy").depends_on
    assert any(urn.endswith("::data-private") for urn in waits_for), "S3 would answer 409"


@pytest.mark.parametrize("bucket", ["ab", "Fleet", "fleet_dev", "-fleet", "f" * 64])
def test_a_name_that_s3_refuses_is_a_sentence(bucket: str) -> None:
    with pytest.raises(ValueError, match=f"bucket is '{bucket}'; allowed: 3 to 63"):
        ObjectStoreArgs(bucket=bucket)


def test_the_children_hang_below_the_store() -> None:
    store_, *children = store()
    assert store_.type == "gpu:platform:ObjectStore"
    assert all(child.parent.endswith("::data") for child in children)


def statements(**changes: Any) -> dict[str, dict[str, Any]]:
    document = json.loads(policy(LakefsAccessArgs(buckets=["one", "two"], **changes)))
    return {each["Sid"]: each for each in document["Statement"]}


def test_the_user_reaches_its_buckets_and_nothing_else() -> None:
    found = statements()
    assert found.keys() == {"Objects", "Buckets"}
    assert found["Objects"]["Resource"] == ["arn:aws:s3:::one/*", "arn:aws:s3:::two/*"]
    assert found["Buckets"]["Resource"] == ["arn:aws:s3:::one", "arn:aws:s3:::two"]
    actions = [*found["Objects"]["Action"], *found["Buckets"]["Action"]]
    assert not any(action.endswith("*") or "Delete" in action for action in actions)


def test_dynamodb_and_kms_are_granted_only_where_they_are_used() -> None:
    table = "arn:aws:dynamodb:us-east-1:*:table/lakefs-dev"
    found = statements(table_arn=table, kms_key_arns=["arn:aws:kms:us-east-1:1:key/k"])
    assert found["Table"]["Resource"] == [table]
    assert found["Keys"]["Resource"] == ["arn:aws:kms:us-east-1:1:key/k"]
    assert all(action.startswith("dynamodb:") for action in found["Account"]["Action"])


def test_the_keys_belong_to_a_user_of_their_own() -> None:
    args = LakefsAccessArgs(buckets=["one"])
    resources = render(lambda: LakefsAccess("lakefs", args) and None)
    user, key = one(resources, "User"), one(resources, "AccessKey")
    assert user.parent == key.parent
    assert json.loads(str(one(resources, "UserPolicy").inputs["policy"]))


def test_an_object_that_a_stolen_key_overwrites_can_be_had_back_for_a_month() -> None:
    made = store()
    versions = one(made, "BucketVersioning")
    assert versions.inputs["versioningConfiguration"] == {"status": "Enabled"}
    rules: Any = one(made, "BucketLifecycleConfiguration").inputs["rules"]
    assert rules[0]["noncurrentVersionExpiration"] == {"noncurrentDays": 30}
    assert not {"s3:DeleteObject", "s3:DeleteObjectVersion"} & set(OBJECT_ACTIONS)
