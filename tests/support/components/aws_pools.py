"""A pool of GPU instances on AWS, and functions to look at its parts."""

from collections.abc import Callable, Mapping
from typing import Any

from pulumi_kubernetes.helm.v3 import Release

from components.pools.aws_gpu import AwsGpuPool, AwsGpuPoolArgs
from components.pools.boot import SAMPLE_TOKEN, ClusterJoin, PoolBoot, join_ignition_of
from hardware.catalogue import load
from ignition.boot.node import Booted
from ignition.boot.node import boot as boot_machine
from ignition.plan.tuning import Purpose, Tuning
from settings import AwsPoolSettings
from tests.support.components.boots import boot as boot_of
from tests.support.components.boots import changed
from tests.support.recorder import Registered, named
from workloads.controllers.join_tokens.burst import filled

HUGEPAGES = Tuning(hugepages_1gi_per_numa_node=64, housekeeping_cores_per_numa_node=4)


def pool(
    purpose: Purpose = "training",
    boot: PoolBoot | None = None,
    vpc: str | None = None,
    **changes: Any,
) -> Callable[[], None]:
    """Return a program with one pool; `changes` are fields of the declared pool."""

    def program() -> None:
        made = boot or boot_of("p5e.48xlarge", purpose=purpose, tuning=HUGEPAGES)
        made, declared = changed(made, AwsPoolSettings, changes)
        controller = Release("controller", chart="karpenter")
        args = AwsGpuPoolArgs(
            boot=made,
            pool=declared,
            karpenter=controller,
            vpc=vpc,
        )
        AwsGpuPool("pool", args)

    return program


def spec(resources: list[Registered], kind: str) -> Mapping[str, Any]:
    """Return the spec of the first object of a kind."""
    found = next(iter(named(resources, kind).values()))
    value = found.inputs["spec"]
    assert isinstance(value, dict)
    return value


def objects(resources: list[Registered]) -> dict[str, Mapping[str, Any]]:
    """Return the objects in the bucket by key."""
    found = named(resources, "BucketObjectv2").values()
    return {str(stored.inputs["key"]): stored.inputs for stored in found}


def booted(resources: list[Registered]) -> Booted:
    """Boot a machine of the pool, with the join part that fleet-join-tokens would write."""
    cluster = ClusterJoin(
        name="fleet-test",
        endpoint="api.fleet.example:6443",
        ca_cert_hash="sha256:" + "ab" * 32,
        seed="",
    )
    template = join_ignition_of(cluster, None, SAMPLE_TOKEN)
    texts = {"join.ign": filled(template, "abcdef.0123456789abcdef").decode()}
    texts |= {key: str(stored["content"]) for key, stored in objects(resources).items()}
    user_data = spec(resources, "EC2NodeClass")["userData"]
    return boot_machine(
        user_data,
        load("p5e.48xlarge"),
        fetch=lambda url: texts[url.rsplit("/", 1)[1]].encode(),
    )
