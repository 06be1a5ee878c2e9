"""A pool of GPU instances on AWS: what Karpenter and EC2 are told, and what is kept from them."""

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

import pulumi
import pytest
from pulumi_kubernetes.helm.v3 import Release

from components.pools.aws_boot import plain_key
from components.pools.aws_gpu import AwsGpuPool, AwsGpuPoolArgs, reservations
from components.pools.boot import PoolError
from hardware.hardware import load
from ignition.boot import Booted
from ignition.boot import boot as boot_machine
from ignition.payload import EC2_LIMIT_BYTES
from ignition.tuning import Purpose, Tuning
from tests.recorder import Registered, Secret, invoked, named, render
from tests.unit.components.boots import TOKEN, boot, lengthened

HUGEPAGES = Tuning(hugepages_1gi_per_numa_node=64, housekeeping_cores_per_numa_node=4)


def pool(purpose: Purpose = "training", **changes: Any) -> Callable[[], None]:
    def program() -> None:
        args = AwsGpuPoolArgs(
            boot=boot("p5e.48xlarge", purpose=purpose, tuning=HUGEPAGES),
            gpu_limits={"reserved": 8, "spot": 16},
            crds=Release("crds", chart="karpenter-crd"),
            flatcar="4593.2.5",
            consolidate_after_minutes=10,
        )
        AwsGpuPool("pool", dataclasses.replace(args, **changes))

    return program


def spec(resources: list[Registered], kind: str) -> Mapping[str, Any]:
    """The spec of the one object of a kind; of NodePools the first."""
    found = next(iter(named(resources, kind).values()))
    value = found.inputs["spec"]
    assert isinstance(value, dict)
    return value


def join_text(resources: list[Registered]) -> str:
    """The secret part as it lies in the bucket."""
    content = objects(resources)["join.ign"]["content"]
    assert isinstance(content, Secret), "the join part must be secret"
    return str(content.value)


def objects(resources: list[Registered]) -> dict[str, Mapping[str, Any]]:
    """What lies in the bucket, by its key."""
    found = named(resources, "BucketObjectv2").values()
    return {str(stored.inputs["key"]): stored.inputs for stored in found}


def booted(resources: list[Registered]) -> Booted:
    """What a machine of the pool becomes."""
    texts = {"join.ign": join_text(resources)}
    texts |= {
        key: str(stored["content"])
        for key, stored in objects(resources).items()
        if key not in texts
    }
    user_data = spec(resources, "EC2NodeClass")["userData"]
    return boot_machine(
        user_data,
        load("p5e.48xlarge"),
        fetch=lambda url: texts[url.rsplit("/", 1)[1]].encode(),
    )


def test_the_image_is_searched_at_flatcars_own_account() -> None:
    node_class = spec(render(pool()), "EC2NodeClass")
    assert node_class["amiFamily"] == "Custom"
    terms = [{"name": "Flatcar-stable-4593.2.5-hvm", "owner": "075585003325"}]
    assert node_class["amiSelectorTerms"] == terms


def test_preview_asks_whether_the_image_is_still_published() -> None:
    ((token, arguments),) = invoked(pool())
    assert token == "aws:ec2/getAmi:getAmi"
    assert arguments["owners"] == ["075585003325"]
    assert arguments["filters"] == [
        {"name": "name", "values": ["Flatcar-stable-4593.2.5-hvm"]},
        {"name": "architecture", "values": ["x86_64"]},
    ]


@pytest.mark.parametrize(
    "words",
    [
        "Your query returned no results. Please change your search criteria and try again.",
        "aws ec2.getAmi: no AMI matches: the filter name must be such as Flatcar-stable-1-hvm.",
    ],
)
def test_an_image_that_is_gone_is_one_sentence_with_the_way_out(words: str) -> None:
    with pytest.raises(PoolError) as caught:
        render(pool(), not_found="aws:ec2/getAmi:getAmi", because=words)
    assert str(caught.value).startswith(
        "pool pool: the image Flatcar-stable-4593.2.5-hvm was not found; Flatcar unpublishes an "
        "image after nine months, so raise gpu-fleet:versions.flatcar ("
    )
    assert words in str(caught.value), "the cloud's own words"


@pytest.mark.parametrize(
    ("machine", "efa", "warnings"),
    [("p5e.48xlarge", False, 1), ("p5e.48xlarge", True, 0), ("dgx-h200", False, 0)],
)
def test_a_pool_whose_efa_interfaces_have_no_driver_is_warned_of(
    machine: str, *, efa: bool, warnings: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", lambda text, _resource: said.append(text))

    def program() -> None:
        pool(boot=dataclasses.replace(boot(machine), efa=efa))()

    render(program)

    assert len(said) == warnings
    assert all(
        text.startswith(
            "pool pool: p5e.48xlarge has 32 EFA interfaces and the environment no driver for them, "
            "so traffic between nodes goes over TCP; "
        )
        for text in said
    )


def test_an_aws_that_cannot_be_asked_is_not_taken_for_a_missing_image() -> None:
    words = "No valid credential sources found.\nfailed to refresh cached credentials"
    with pytest.raises(PoolError) as caught:
        render(pool(), not_found="aws:ec2/getAmi:getAmi", because=words)
    sentence = str(caught.value)
    assert sentence.startswith(
        "pool pool: AWS could not be asked for the image Flatcar-stable-4593.2.5-hvm; check the "
        "AWS credentials, the network and gpu-fleet:sites.here.region ("
    )
    assert "No valid credential sources found. failed to refresh" in sentence
    assert "versions.flatcar" not in sentence


def test_the_whole_user_data_is_known_at_preview_and_holds_no_token() -> None:
    user_data = spec(render(pool(), preview=True), "EC2NodeClass")["userData"]
    assert isinstance(user_data, str), "secret or unknown user data is hidden from reviewers"
    assert TOKEN not in user_data
    assert "join.yaml" not in json.dumps(json.loads(user_data)["storage"])


def test_the_join_part_is_fetched_from_the_bucket_and_checked_by_its_digest() -> None:
    resources = render(pool())
    (stored,) = named(resources, "BucketObjectv2").values()
    ignition = json.loads(spec(resources, "EC2NodeClass")["userData"])["ignition"]
    (merge,) = ignition["config"]["merge"]
    assert merge["source"] == f"s3://{stored.inputs['bucket']}/{stored.inputs['key']}"
    digest = hashlib.sha512(join_text(resources).encode()).hexdigest()
    assert merge["verification"]["hash"] == f"sha512-{digest}"


def test_a_machine_with_this_user_data_joins_with_karpenters_registration_taint() -> None:
    machine = booted(render(pool()))
    assert machine.problems == ()
    assert machine.node is not None
    keys = {taint["key"]: taint["effect"] for taint in machine.node.taints}
    assert keys == {"karpenter.sh/unregistered": "NoExecute", "nvidia.com/gpu": "NoSchedule"}


def test_the_nodes_role_may_read_its_boot_data_and_nothing_else() -> None:
    resources = render(pool())
    (policy,) = named(resources, "RolePolicy").values()
    (stored,) = named(resources, "BucketObjectv2").values()
    (statement,) = json.loads(str(policy.inputs["policy"]))["Statement"]
    arn = f"arn:aws:s3:::{stored.inputs['bucket']}/{stored.inputs['key']}"
    assert (statement["Action"], statement["Resource"]) == ("s3:GetObject", [arn])
    profile = spec(resources, "EC2NodeClass")["instanceProfile"]
    assert [p.inputs["name"] for p in named(resources, "InstanceProfile").values()] == [profile]


def test_the_bucket_is_private_encrypted_and_spoken_to_over_tls() -> None:
    resources = render(pool())
    (block,) = named(resources, "BucketPublicAccessBlock").values()
    switches = [value for key, value in block.inputs.items() if key != "bucket"]
    assert switches == [True] * 4
    assert named(resources, "BucketServerSideEncryptionConfiguration")
    (policy,) = named(resources, "BucketPolicy").values()
    (statement,) = json.loads(str(policy.inputs["policy"]))["Statement"]
    assert statement["Effect"] == "Deny"
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_pods_cannot_reach_the_nodes_role() -> None:
    options = spec(render(pool()), "EC2NodeClass")["metadataOptions"]
    assert (options["httpTokens"], options["httpPutResponseHopLimit"]) == ("required", 1)


def test_karpenter_is_told_the_sums_that_the_kubelet_keeps() -> None:
    plan = boot("p5e.48xlarge", tuning=HUGEPAGES).plan
    told = spec(render(pool()), "EC2NodeClass")["kubelet"]
    assert told == reservations(plan)
    # 4 cores of 2 threads on each of 2 NUMA nodes; 128 pages of 1 GiB beside 8 GiB for the system
    assert told["systemReserved"] == {"cpu": "16", "memory": f"{8192 + 128 * 1024}Mi"}
    assert told["evictionHard"]["memory.available"] == "1024Mi"


def test_karpenters_figures_are_those_of_the_booted_machine() -> None:
    resources = render(pool())
    told = spec(resources, "EC2NodeClass")["kubelet"]
    node = booted(resources).node
    assert node is not None
    kept_cpus = int(node.capacity["cpu"]) - int(node.allocatable["cpu"])
    assert kept_cpus == int(told["systemReserved"]["cpu"])
    kept_mib = mib(node.capacity["memory"]) - mib(node.allocatable["memory"])
    assert kept_mib == (
        mib(told["systemReserved"]["memory"])
        + mib(told["kubeReserved"]["memory"])
        + mib(told["evictionHard"]["memory.available"])
    )


def mib(quantity: str) -> int:
    units = {"Ki": 1 / 1024, "Mi": 1, "Gi": 1024}
    return round(int(quantity[:-2]) * units[quantity[-2:]])


def test_nodes_and_their_class_wait_for_karpenters_crds() -> None:
    resources = render(pool())
    found = [*named(resources, "NodePool").values(), *named(resources, "EC2NodeClass").values()]
    assert len(found) == 3
    for each in found:
        assert any(urn.endswith("::crds") for urn in each.depends_on), each.name


def node_pools(resources: list[Registered]) -> dict[str, Any]:
    """The spec of each NodePool by its name in the cluster."""
    found = [each.inputs for each in named(resources, "NodePool").values()]
    return {each["metadata"]["name"]: each["spec"] for each in found}  # type: ignore[index]  # objects


def test_each_capacity_type_has_a_node_pool_with_its_own_gpu_limit() -> None:
    pools = node_pools(render(pool()))
    assert set(pools) == {"pool-reserved", "pool-spot"}
    for name, gpus in (("reserved", "8"), ("spot", "16")):
        node_pool = pools[f"pool-{name}"]
        assert node_pool["limits"] == {"nvidia.com/gpu": gpus}
        wanted = {
            each["key"]: each["values"] for each in node_pool["template"]["spec"]["requirements"]
        }
        assert wanted["node.kubernetes.io/instance-type"] == ["p5e.48xlarge"]
        assert wanted["karpenter.sh/capacity-type"] == [name]


def test_what_is_reserved_is_filled_first_and_on_demand_last() -> None:
    pools = node_pools(render(pool(gpu_limits={"on-demand": 8, "spot": 8, "reserved": 8})))
    ordered = sorted(pools, key=lambda name: pools[name]["weight"], reverse=True)
    assert ordered == ["pool-reserved", "pool-spot", "pool-on-demand"]
    assert all(1 <= each["weight"] <= 100 for each in pools.values()), "Karpenter's bounds"


def test_local_disks_that_nobody_mounts_are_not_promised() -> None:
    assert "instanceStorePolicy" not in spec(render(pool()), "EC2NodeClass")


@pytest.mark.parametrize(
    ("purpose", "policy"),
    [("training", "WhenEmpty"), ("inference", "WhenEmptyOrUnderutilized")],
)
def test_a_training_job_is_never_moved_to_save_a_node(purpose: Purpose, policy: str) -> None:
    disruption = spec(render(pool(purpose)), "NodePool")["disruption"]
    assert disruption == {"consolidationPolicy": policy, "consolidateAfter": "10m"}


@pytest.mark.parametrize(("hours", "expires"), [(None, "Never"), (720, "720h")])
def test_a_node_lives_as_long_as_it_is_told(hours: int | None, expires: str) -> None:
    template = spec(render(pool(expire_after_hours=hours)), "NodePool")["template"]["spec"]
    assert template["expireAfter"] == expires
    assert template["terminationGracePeriod"] == "24h", "expiry waits forever without it"


def test_reservations_are_selected_where_reserved_capacity_is_bought() -> None:
    reserved = spec(render(pool()), "EC2NodeClass")
    assert reserved["capacityReservationSelectorTerms"] == [{"tags": {"fleet.gpu/pool": "pool"}}]
    spot = spec(render(pool(gpu_limits={"spot": 8})), "EC2NodeClass")
    assert "capacityReservationSelectorTerms" not in spot


@pytest.mark.parametrize("limit", [0, 4, 12])
def test_a_limit_that_no_number_of_machines_meets_is_refused(limit: int) -> None:
    with pytest.raises(PoolError, match=rf"gpu_limits\.spot is {limit}; allowed: a multiple of 8"):
        render(pool(gpu_limits={"reserved": 8, "spot": limit}))


def test_a_capacity_type_that_karpenter_does_not_know_is_refused() -> None:
    with pytest.raises(PoolError, match="is for capacity-block; allowed: reserved, spot, on-dem"):
        render(pool(gpu_limits={"capacity-block": 8}))


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
