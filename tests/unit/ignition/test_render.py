"""The boot data of a node: its plain part, its secret part, and how they come together."""

import base64
import dataclasses
import hashlib
import json
from typing import Any
from urllib.parse import unquote

import pytest
import yaml

from ignition.write.payload import Merge, fit
from ignition.write.render import (
    RenderError,
    data_url,
    join_ignition,
    tuning_butane,
    tuning_ignition,
    with_merge,
)
from tests.support.ignition.nodes import PURPOSE_OF, TOKEN, join, node, user_data

every_machine = pytest.mark.parametrize("name", PURPOSE_OF)
EC2_USER_DATA_BYTES = 16 * 1024
HETZNER_USER_DATA_BYTES = 32 * 1024


def files(config: str) -> dict[str, Any]:
    return {file["path"]: file for file in json.loads(config)["storage"]["files"]}


def text(file: dict[str, Any]) -> str:
    source = str(file["contents"]["source"])
    kind, _, data = source.partition(",")
    return base64.b64decode(data).decode() if kind.endswith("base64") else unquote(data)


def units(config: str) -> dict[str, Any]:
    return {unit["name"]: unit for unit in json.loads(config)["systemd"]["units"]}


@every_machine
def test_the_same_node_gives_the_same_text(name: str) -> None:
    assert tuning_ignition(node(name)) == tuning_ignition(node(name))


@every_machine
def test_the_plain_part_is_compact_ignition_3_4(name: str) -> None:
    config = tuning_ignition(node(name))
    assert json.loads(config)["ignition"] == {"version": "3.4.0"}
    assert "\n" not in config
    assert ": " not in config.split('"contents"')[0]


def test_kernel_arguments_are_those_of_the_plan() -> None:
    boot = node("dgx-h200")
    written = json.loads(tuning_ignition(boot))["kernelArguments"]["shouldExist"]
    assert written == list(boot.plan.kernel_arguments)


def test_the_kubelet_patch_has_a_name_that_kubeadm_reads() -> None:
    boot = node("dgx-h200")
    path = "/etc/kubernetes/patches/kubeletconfiguration+merge.json"
    patch = json.loads(text(files(tuning_ignition(boot))[path]))
    assert patch.items() >= dict(boot.plan.kubelet).items()


def test_a_taint_without_value_is_registered_without_one() -> None:
    path = "/etc/kubernetes/patches/kubeletconfiguration+merge.json"
    patch = json.loads(text(files(tuning_ignition(node("p5e.48xlarge")))[path]))
    assert patch["registerWithTaints"] == [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
        {"key": "karpenter.sh/unregistered", "effect": "NoExecute"},
    ]


def test_labels_are_kubelet_arguments_in_a_fixed_order() -> None:
    written = text(files(tuning_ignition(node("dgx-h200")))["/etc/sysconfig/kubelet"])
    digest = node("dgx-h200").plan.digest
    assert written == (
        "KUBELET_EXTRA_ARGS=--node-labels=fleet.gpu/hardware=dgx-h200,"
        f"fleet.gpu/numa-plan={digest},fleet.gpu/pool=pool,fleet.gpu/purpose=training,"
        "fleet.gpu/site=here\n"
    )


@pytest.mark.parametrize(
    ("machine", "waits"), [("ccx33", True), ("dgx-h200", False), ("p5e.48xlarge", False)]
)
def test_only_nodes_at_hetzner_wait_for_a_cloud_controller(machine: str, waits: bool) -> None:
    arguments = text(files(tuning_ignition(node(machine)))["/etc/sysconfig/kubelet"]).split()
    assert ("--cloud-provider=external" in arguments) is waits, "elsewhere nobody would answer"


@pytest.mark.parametrize("label", [("a b", "c"), ("a", "b,c=d"), ("a", "b\nc"), ("-a", "b")])
def test_a_malformed_label_is_refused(label: tuple[str, str]) -> None:
    boot = dataclasses.replace(node("ccx33"), labels=dict([label]))
    with pytest.raises(RenderError, match="is malformed"):
        tuning_butane(boot)


def test_a_gpu_node_gets_driver_runtime_and_fabric_manager() -> None:
    config = tuning_ignition(node("dgx-h200"))
    links = {link["path"] for link in json.loads(config)["storage"]["links"]}
    assert {f"/etc/extensions/nvidia-{each}.raw" for each in ("runtime", "fabricmanager")} <= links
    driver = files(config)["/etc/flatcar/enabled-sysext.conf"]
    assert text(driver) == "nvidia-drivers-570-open\n"
    starts = units(config)["multi-user.target"]["dropins"][0]["contents"]
    assert "Upholds=nvidia-fabricmanager.service" in starts


@pytest.mark.parametrize("machine", ["dgx-h200", "p5e.48xlarge"])
def test_a_gpu_node_starts_the_daemon_of_persistence_mode_after_the_driver(machine: str) -> None:
    dropin = units(tuning_ignition(node(machine)))["nvidia.service"]["dropins"][0]
    assert dropin["name"] != "10-persistenced.conf", "would hide that of the NVIDIA runtime"
    start = "ExecStartPost=-/usr/bin/systemctl start --no-block nvidia-persistenced.service"
    assert start in dropin["contents"].splitlines()


def test_a_join_begins_anew_after_one_that_failed_halfway() -> None:
    lines = units(tuning_ignition(node("ccx33")))["kubeadm-join.service"]["contents"].splitlines()
    leftover = lines.index("ExecStartPre=/usr/bin/rm --force /etc/kubernetes/pki/ca.crt")
    assert lines[leftover + 1].startswith("ExecStart=/usr/bin/kubeadm join ")


def test_a_cpu_node_gets_nothing_of_nvidia() -> None:
    assert "nvidia" not in tuning_ignition(node("ccx33"))


@pytest.mark.parametrize("missing", ["nvidia_driver", "nvidia_runtime"])
def test_a_gpu_node_without_driver_or_runtime_is_refused(missing: str) -> None:
    boot = dataclasses.replace(node("dgx-h200"), **{missing: None})  # type: ignore[arg-type]  # a field's name
    with pytest.raises(RenderError, match="needs both nvidia_driver and nvidia_runtime"):
        tuning_butane(boot)


def test_only_machines_of_aws_ask_for_their_provider_id() -> None:
    assert "--provider-id=aws:///" in tuning_ignition(node("p5e.48xlarge"))
    assert "--provider-id" not in tuning_ignition(node("dgx-h200"))


@every_machine
def test_locksmith_is_masked_and_the_join_waits_for_network_and_containerd(name: str) -> None:
    found = units(tuning_ignition(node(name)))
    assert found["locksmithd.service"]["mask"] is True
    after = next(
        line
        for line in found["kubeadm-join.service"]["contents"].splitlines()
        if line.startswith("After=")
    )
    assert {"containerd.service", "network-online.target"} <= set(after[6:].split())


@every_machine
def test_every_line_of_the_kernel_has_its_reason_beside_it(name: str) -> None:
    boot = node(name)
    source = tuning_butane(boot)
    for argument in boot.plan.kernel_arguments:
        reason = boot.plan.reasons[argument]
        assert f"# {reason.reason}\n    # {reason.source}\n    - {argument}\n" in source


def test_the_join_part_is_a_join_configuration_that_only_root_reads() -> None:
    file = files(join_ignition(join()))["/etc/kubernetes/join.yaml"]
    assert file["mode"] == 0o600
    configuration = yaml.safe_load(text(file))
    assert configuration["apiVersion"] == "kubeadm.k8s.io/v1beta4"
    assert configuration["nodeRegistration"]["name"] == "node-01"
    assert configuration["patches"] == {"directory": "/etc/kubernetes/patches"}
    assert configuration["discovery"]["bootstrapToken"]["token"] == TOKEN


def test_a_host_name_is_written_only_where_one_is_given() -> None:
    named = files(join_ignition(join("node-01")))["/etc/hostname"]
    assert (text(named), named["overwrite"]) == ("node-01\n", True)
    assert "/etc/hostname" not in files(join_ignition(join(None)))
    assert (
        "name"
        not in yaml.safe_load(text(files(join_ignition(join(None)))["/etc/kubernetes/join.yaml"]))[
            "nodeRegistration"
        ]
    )


def test_a_token_is_not_shown_by_its_object() -> None:
    assert TOKEN not in repr(join())


@every_machine
def test_the_plain_part_knows_no_token(name: str) -> None:
    assert TOKEN not in tuning_ignition(node(name))
    assert "join.yaml" not in files(tuning_ignition(node(name)))


def test_a_merge_keeps_the_plain_part_readable() -> None:
    tuning = tuning_ignition(node("dgx-h200"))
    merged = json.loads(with_merge(tuning, "s3://boot/join.ign", "f" * 128))
    assert merged["ignition"].pop("config") == {
        "merge": [{"source": "s3://boot/join.ign", "verification": {"hash": f"sha512-{'f' * 128}"}}]
    }
    assert merged == json.loads(tuning)


def test_a_second_merge_comes_after_the_first() -> None:
    tuning = tuning_ignition(node("ccx33"))
    twice = json.loads(with_merge(with_merge(tuning, "data:,1"), "data:,2"))
    assert [each["source"] for each in twice["ignition"]["config"]["merge"]] == [
        "data:,1",
        "data:,2",
    ]


def test_a_data_url_holds_its_text() -> None:
    assert base64.b64decode(data_url("ä,%").removeprefix("data:;base64,")).decode() == "ä,%"


def test_a_snippet_is_merged_into_the_plain_part() -> None:
    snippet = "variant: flatcar\nversion: 1.1.0\nstorage:\n  files:\n    - path: /etc/mine\n"
    boot = dataclasses.replace(node("ccx33"), snippets=(snippet,))
    merged = json.loads(tuning_ignition(boot))["ignition"]["config"]["merge"]
    config = json.loads(base64.b64decode(merged[0]["source"].partition(",")[2]))
    assert config["storage"]["files"] == [{"path": "/etc/mine"}]


@pytest.mark.parametrize("name", ["p5e.48xlarge", "p5en.48xlarge"])
def test_user_data_that_points_at_its_parts_fits_ec2(name: str) -> None:
    digest = hashlib.sha512(join_ignition(join()).encode()).hexdigest()
    store = "s3://gpu-fleet-boot/pool/plain.ign"
    secret = Merge(source="s3://gpu-fleet-boot/pool/join.ign", sha512=digest)
    made = fit(tuning_ignition(node(name)), (secret,), limit_bytes=EC2_USER_DATA_BYTES, store=store)
    assert len(made.user_data.encode()) <= EC2_USER_DATA_BYTES


def test_user_data_with_its_secret_part_fits_hetzner() -> None:
    assert len(user_data(node("ccx33")).encode()) <= HETZNER_USER_DATA_BYTES
