"""Boot data of a pool on AWS: a plain part, a secret one in the bucket, the role that reads it."""

import dataclasses
import hashlib
import json
from collections.abc import Callable
from functools import partial

import pulumi

from components.pools.aws_boot import plain_key
from ignition.write.payload import EC2_LIMIT_BYTES
from tests.support.components.aws_pools import booted, objects, pool, spec
from tests.support.components.boots import boot, lengthened, shortened
from tests.support.recorder import named, render


def test_the_whole_user_data_is_known_at_preview_and_holds_no_token() -> None:
    user_data = spec(render(short_pool(), preview=True), "EC2NodeClass")["userData"]
    assert isinstance(user_data, str), "secret or unknown user data is hidden from reviewers"
    assert "join.yaml" not in json.dumps(json.loads(user_data)["storage"])


def test_another_token_changes_no_node_class_so_that_no_machine_drifts() -> None:
    def with_seed(seed: str) -> None:
        made = boot("p5e.48xlarge")
        cluster = dataclasses.replace(made.cluster, seed=pulumi.Output.secret(seed))
        pool(boot=dataclasses.replace(made, cluster=cluster))()

    one, another = (render(partial(with_seed, seed)) for seed in ("one", "another"))
    assert spec(one, "EC2NodeClass") == spec(another, "EC2NodeClass")


def test_the_join_part_is_fetched_from_the_pools_own_bucket() -> None:
    resources = render(short_pool())
    (bucket,) = named(resources, "Bucket").values()
    ignition = json.loads(spec(resources, "EC2NodeClass")["userData"])["ignition"]
    (merge,) = ignition["config"]["merge"]
    assert merge == {"source": f"s3://{bucket.inputs['bucket']}/join.ign"}


def test_the_bucket_goes_with_the_join_part_that_is_no_resource_of_the_program() -> None:
    (bucket,) = named(render(pool()), "Bucket").values()
    assert bucket.inputs["forceDestroy"] is True


def test_a_machine_with_this_user_data_joins_with_karpenters_registration_taint() -> None:
    machine = booted(render(pool()))
    assert machine.problems == ()
    assert machine.node is not None
    keys = {taint["key"]: taint["effect"] for taint in machine.node.taints}
    assert keys == {"karpenter.sh/unregistered": "NoExecute", "nvidia.com/gpu": "NoSchedule"}


def test_the_nodes_role_may_read_its_boot_data_and_nothing_else() -> None:
    resources = render(short_pool())
    (policy,) = named(resources, "RolePolicy").values()
    (bucket,) = named(resources, "Bucket").values()
    (statement,) = json.loads(str(policy.inputs["policy"]))["Statement"]
    arn = f"arn:aws:s3:::{bucket.inputs['bucket']}/join.ign"
    assert (statement["Action"], statement["Resource"]) == ("s3:GetObject", [arn])
    profile = spec(resources, "EC2NodeClass")["instanceProfile"]
    assert [p.inputs["name"] for p in named(resources, "InstanceProfile").values()] == [profile]


def test_the_bucket_is_private_encrypted_and_reached_over_tls_only() -> None:
    resources = render(pool())
    (block,) = named(resources, "BucketPublicAccessBlock").values()
    switches = [value for key, value in block.inputs.items() if key != "bucket"]
    assert switches == [True] * 4
    assert named(resources, "BucketServerSideEncryptionConfiguration")
    (policy,) = named(resources, "BucketPolicy").values()
    (statement,) = json.loads(str(policy.inputs["policy"]))["Statement"]
    assert statement["Effect"] == "Deny"
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def short_pool() -> Callable[[], None]:
    def program() -> None:
        pool(boot=shortened(boot("p5e.48xlarge")))()

    return program


def test_a_plain_part_in_the_bucket_is_known_at_preview_and_holds_no_token() -> None:
    stored = objects(render(long_pool(), preview=True))
    (plain,) = (found["content"] for key, found in stored.items() if key.startswith("plain-"))
    assert isinstance(plain, str), "a secret or unknown plain part is hidden from reviewers"
    assert "bootstrapToken" not in plain


def long_pool() -> Callable[[], None]:
    def program() -> None:
        pool(boot=lengthened(boot("p5e.48xlarge"), "x" * EC2_LIMIT_BYTES))()

    return program


def test_a_plain_part_that_is_too_long_for_ec2_lies_beside_the_token() -> None:
    resources = render(long_pool())
    stored = objects(resources)
    plain = next(key for key in stored if key.startswith("plain-"))
    user_data = spec(resources, "EC2NodeClass")["userData"]
    assert len(user_data.encode()) <= EC2_LIMIT_BYTES
    first, second = json.loads(user_data)["ignition"]["config"]["merge"]
    digest = hashlib.sha512(str(stored[plain]["content"]).encode()).hexdigest()
    assert first == {
        "source": f"s3://{stored[plain]['bucket']}/{plain}",
        "verification": {"hash": f"sha512-{digest}"},
    }
    assert second["source"].endswith("/join.ign")
    (policy,) = named(resources, "RolePolicy").values()
    (statement,) = json.loads(str(policy.inputs["policy"]))["Statement"]
    assert statement["Resource"] == [
        f"arn:aws:s3:::{stored[plain]['bucket']}/{key}" for key in ("join.ign", plain)
    ]


def test_a_machine_with_a_plain_part_in_the_bucket_joins() -> None:
    machine = booted(render(long_pool()))
    assert machine.problems == ()
    assert machine.node is not None


def test_the_key_of_a_plain_part_changes_with_its_text() -> None:
    keys = []

    def program() -> None:
        one = boot("p5e.48xlarge")
        keys.extend([plain_key(one), plain_key(dataclasses.replace(one, ignition="{}"))])

    render(program)
    assert len(set(keys)) == 2
