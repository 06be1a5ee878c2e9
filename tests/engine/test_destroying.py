"""What is rented ends before what ends it: `destroy`, and an update without the last AWS pool."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, cast

import pytest
from rich.console import Console

from fleet.deployed_stack import DeployedStack
from fleet.destroy.command import GONE, LEFT, tear_down
from fleet.destroy.run import Teardown
from rehearsal.karpenter import instances
from rehearsal.providers import cloud
from settings import load
from settings.names import SERVER
from tests.engine.conftest import Change, Trial
from tests.engine.test_replacing import ready
from tests.support.hetzner import Project, project

OLD_ORDER = """
import json

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.helm.v3 import Release

cluster = kubernetes.Provider(
    "cluster", kubeconfig=pulumi.Config("gpu-fleet").require_secret("kubeconfig")
)


def options(**more):
    timeouts = pulumi.CustomTimeouts(delete="20s")
    return pulumi.ResourceOptions(provider=cluster, custom_timeouts=timeouts, **more)


at_aws = pulumi.ResourceOptions(provider=aws.Provider("aws", region="us-east-1"))
service = {"Service": "ec2.amazonaws.com"}
statement = {"Effect": "Allow", "Principal": service, "Action": "sts:AssumeRole"}
policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
role = aws.iam.Role("role", name="node", assume_role_policy=policy, opts=at_aws)
profile = aws.iam.InstanceProfile("profile", name="node", role=role.name, opts=at_aws)
access = {
    "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "AKIATWIN", "AWS_SECRET_ACCESS_KEY": "twin"
}
values = {
    "settings": {"clusterName": "fleet-dev", "clusterEndpoint": "https://api.fleet.example:6443"},
    "controller": {"env": [{"name": name, "value": value} for name, value in access.items()]},
}
found_by = [{"tags": {"karpenter.sh/discovery": "fleet-dev"}}]
image = {"name": "Flatcar-stable-4593.2.5-hvm", "owner": "075585003325"}
chart = {"namespace": "kube-system", "version": "1.14.1"}
crds = Release(
    "crd", name="karpenter-crd", chart="oci://public.ecr.aws/karpenter/karpenter-crd",
    opts=options(), **chart
)
Release(
    "controller", name="karpenter", chart="oci://public.ecr.aws/karpenter/karpenter",
    skip_crds=True, values=values, opts=options(depends_on=[crds]), **chart
)
CustomResource(
    "class",
    api_version="karpenter.k8s.aws/v1",
    kind="EC2NodeClass",
    metadata={"name": "burst"},
    spec={
        "amiFamily": "Custom",
        "amiSelectorTerms": [image],
        "subnetSelectorTerms": found_by,
        "securityGroupSelectorTerms": found_by,
        "instanceProfile": profile.name,
        "userData": "{}",
    },
    opts=options(depends_on=[crds]),
)
CustomResource(
    "pool",
    api_version="karpenter.sh/v1",
    kind="NodePool",
    metadata={"name": "burst-spot"},
    spec={
        "limits": {"nvidia.com/gpu": "8"},
        "template": {
            "spec": {
                "nodeClassRef": {
                    "group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "burst"
                },
                "requirements": [
                    {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
                    {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]},
                ],
            }
        },
    },
    opts=options(depends_on=[crds]),
)
"""


CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
KARPENTER = (
    *("burst-machines", "burst-spot", "burst-class"),
    *("karpenter-controller", "karpenter-access-key", "karpenter-access-user"),
)


def test_destroy_leaves_no_machine_and_takes_what_others_need_last(
    twin_of_dev: Callable[[Change], Trial],
) -> None:
    trial = twin_of_dev(lambda _config: None)
    trial.up()
    rent(trial, "burst-spot-1", "burst-spot-2")

    with hetzner(trial) as api:
        down = teardown(trial, api, lifted=["dgx", "lakefs", "monitoring", "teams"])
        ended = tear_down(Console(stderr=True), down)
        counted = {each.kind: each.names for each in down.left()}

    assert ended == GONE
    assert counted["resources in the state"] == ()
    assert counted["servers at Hetzner"] == ()
    assert instances.alive(trial.engine.directory) == []
    assert not [node for node in trial.api().items("/api/v1/nodes") if ready(node)]
    gone = [name for _, name in trial.asked("Delete")]
    assert_in_order(gone, *KARPENTER, "cpu-3", "cpu-1", "hetzner-cloud-controller")
    charts = [name for name in gone if name.endswith(("-release", "-controller", "-volumes"))]
    assert len(charts) > 8
    assert charts[-1] == "cilium-release"
    machines = {"cpu-1", "cpu-2", "cpu-3"}
    kept = {"cilium-release", "hetzner-cloud-controller"}
    assert max(gone.index(name) for name in {*charts} - kept) < min(map(gone.index, machines))


def test_destroy_keeps_what_is_protected_and_what_that_needs(
    twin_of_dev: Callable[[Change], Trial],
) -> None:
    """Two DGX stay installed; everything rented goes, and the end says what is left."""
    trial = twin_of_dev(lambda _config: None)
    trial.up()
    rent(trial, "burst-spot-1")

    with hetzner(trial) as api:
        down = teardown(trial, api, lifted=["lakefs", "monitoring", "teams"])
        ended = tear_down(Console(stderr=True), down)
        counted = {each.kind: each.names for each in down.left()}

    assert ended == LEFT
    assert counted["servers at Hetzner"] == ()
    assert instances.alive(trial.engine.directory) == []
    assert {"BareMetalHost dgx-dev-dgx-01", "BareMetalHost dgx-dev-dgx-02"} <= {
        *counted["resources in the state"]
    }
    hosts = trial.api().items("/apis/metal3.io/v1alpha1/baremetalhosts")
    assert len(hosts) == 2
    assert "Release cilium-release" in counted["resources in the state"], "their nodes need it"


def teardown(trial: Trial, api: str, lifted: list[str]) -> Teardown:
    engine = trial.engine
    stack = DeployedStack(
        root=engine.root,
        environment=engine.environment_name,
        pulumi=engine.pulumi,
        variables=engine.environment,
        arguments=engine.arguments,
    )
    return Teardown(
        settings=load(engine.stack_file),
        stack=stack,
        lifted=lifted,
        hetzner=api,
        at_aws=lambda _settings: iter(()),  # the command `aws` would ask a real account
    )


def hetzner(trial: Trial) -> AbstractContextManager[str]:
    """Hetzner's API: the servers of the simulated project."""

    def servers() -> Project:
        things = [each for each in cloud.read(trial.engine.directory) if each.type == SERVER]
        labels = {each.name: each.inputs["labels"] for each in things}
        return {"servers": {name: cast("dict[str, str]", given) for name, given in labels.items()}}

    return project(servers)


def test_an_update_without_the_last_aws_pool_ends_its_machines_before_karpenter(
    twin_of_dev: Callable[[Change], Trial],
) -> None:
    trial = twin_of_dev(lambda _config: None)
    trial.up()
    rent(trial, "burst-spot-1")
    trial.changed(without_burst)

    trial.up()

    assert instances.alive(trial.engine.directory) == []
    gone = [name for _, name in trial.asked("Delete")]
    assert_in_order(gone, *KARPENTER)
    assert_in_order(gone, "karpenter-controller", "karpenter-crd")
    assert trial.asked("Create", "Update", "Delete").count(("Delete", "cpu-1")) == 0


@pytest.mark.slow
def test_in_the_old_order_the_machine_runs_on_and_a_second_destroy_hangs_as_well(
    twin_of_dev: Callable[[Change], Trial], tmp_path: Path
) -> None:
    """Node pools beside the controller: it is gone when their machines still have finalizers."""
    trial = twin_of_dev(lambda _config: None).running(program(tmp_path, OLD_ORDER))
    trial.up()
    rent(trial, "burst-spot-1")

    for _ in range(2):
        ended = trial.destroy()

        assert ended.returncode != 0
        assert "finalizers that hold it" in ended.stdout + ended.stderr
        assert len(instances.alive(trial.engine.directory)) == 1, "and is paid for"


def program(folder: Path, text: str) -> Path:
    (folder / "stacks").mkdir()
    (folder / "stacks" / "__main__.py").write_text(text)
    (folder / "Pulumi.yaml").write_text("name: gpu-fleet\nruntime: python\nmain: stacks/\n")
    return folder


def without_burst(config: dict[str, Any]) -> None:
    del config["gpu-fleet:pools"]["burst"]
    # the queue stays, with its protected namespace, and its jobs run elsewhere
    config["gpu-fleet:teams"]["research"]["queues"]["research-burst"]["pool"] = "dgx"
    config["gpu-fleet:allow"] = {"drain": 2}  # a NodePool each for two capacity types


def rent(trial: Trial, *names: str) -> None:
    """Makes NodeClaims as for pods that wait, and waits until Karpenter has launched machines."""
    api = trial.api()
    pool = api.get("/apis/karpenter.sh/v1/nodepools/burst-spot")
    assert pool
    owner = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "name": "burst-spot",
        "uid": pool["metadata"]["uid"],
        "blockOwnerDeletion": True,
    }
    spec = pool["spec"]["template"]["spec"]
    for name in names:
        body = {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodeClaim",
            "metadata": {
                "name": name,
                "labels": {"karpenter.sh/nodepool": "burst-spot"},
                "annotations": {"karpenter.sh/do-not-disrupt": "true"},  # no pod runs there
                "ownerReferences": [owner],
            },
            "spec": {key: spec[key] for key in ("nodeClassRef", "requirements")},
        }
        assert api.create(CLAIMS, body)
    deadline = time.monotonic() + 60
    while len(instances.alive(trial.engine.directory)) != len(names):
        assert time.monotonic() < deadline, "Karpenter launches no machine"
        time.sleep(0.05)


def assert_in_order(found: list[str], *names: str) -> None:
    assert sorted(names, key=found.index) == [*names]
