"""The objects that measure a machine."""

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from fleet.check.judging import check
from fleet.check.reading import read
from hardware.catalogue import load
from policies.environment import load as load_environment
from settings import stack_file
from settings.names import ACCEPTANCE_NAMESPACE
from tests.conftest import ROOT
from tests.support.environments import ENVIRONMENTS
from workloads.acceptance.__main__ import main
from workloads.acceptance.manifests import collecting, manifests
from workloads.acceptance.numa.program import FILE, program

DGX = load("dgx-h200")


def found(kind: str, name: str) -> dict[str, Any]:
    (only,) = (
        each
        for each in manifests(DGX, "dgx-01")
        if (each["kind"], each["metadata"]["name"]) == (kind, name)
    )
    return only


@pytest.mark.parametrize("name", ["nccl", "gemm-pod", "gemm-host", "tuned"])
def test_a_measurement_holds_all_gpus_of_its_node_and_runs_once(name: str) -> None:
    job = found("Job", f"{name}-dgx-01")["spec"]
    pod = job["template"]["spec"]
    (container,) = pod["containers"]
    asked = {"nvidia.com/gpu": "8", "cpu": "16", "memory": "128Gi"}
    assert container["resources"] == {"requests": asked, "limits": asked}
    assert pod["nodeSelector"] == {"kubernetes.io/hostname": "dgx-01"}
    assert (job["backoffLimit"], pod["restartPolicy"]) == (0, "Never")


def test_every_gpu_takes_part_in_the_all_reduce() -> None:
    (container,) = found("Job", "nccl-dgx-01")["spec"]["template"]["spec"]["containers"]
    command = container["command"]
    assert command[command.index("-g") + 1] == "8"


def test_the_host_runs_the_same_image_and_code_as_the_pod() -> None:
    pods = [
        found("Job", f"{name}-dgx-01")["spec"]["template"]["spec"]
        for name in ("gemm-pod", "gemm-host")
    ]
    (in_pod,), (on_host,) = (pod["containers"] for pod in pods)
    assert in_pod["image"] == on_host["image"]
    name, digest = in_pod["image"].split(":", 1)[0], in_pod["image"].split("@")[1]
    assert f"{name}@{digest}" in on_host["args"], "as containerd knows it"
    assert [pod["hostPID"] for pod in pods] == [False, True]
    assert "gemm.py" in " ".join(on_host["args"])
    assert "securityContext" not in in_pod, "a pod of a job is not privileged either"


def test_the_probe_runs_on_its_machine_alone_and_is_bound_to_no_numa_node() -> None:
    spec = found("DaemonSet", "numa-dgx-01")["spec"]
    pod = spec["template"]["spec"]
    assert pod["nodeSelector"] == {"kubernetes.io/hostname": "dgx-01"}
    assert "resources" not in pod["containers"][0], "the kubelet binds memory of Guaranteed pods"
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    code = found("ConfigMap", "code")
    assert base64.b64decode(code["binaryData"][FILE]) == program()
    assert "def measure" in code["data"]["gemm.py"]


def test_the_command_prints_what_kubectl_reads(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manifests", "--hardware", "dgx-h200", "--node", "dgx-01"]) == 0
    objects = list(yaml.safe_load_all(capsys.readouterr().out))
    assert [each["kind"] for each in objects] == [
        "Namespace",
        "NetworkPolicy",
        "ConfigMap",
        "Job",
        "Job",
        "Job",
        "Job",
        "DaemonSet",
    ]
    assert {each["metadata"].get("namespace", ACCEPTANCE_NAMESPACE) for each in objects} == {
        ACCEPTANCE_NAMESPACE
    }


def test_logs_are_collected_under_the_names_that_are_judged() -> None:
    lines = collecting("dgx-01")
    for name in ("nccl", "gemm-pod", "gemm-host", "tuned", "numa"):
        assert f"> {name}.log" in lines


def test_a_machine_without_gpus_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manifests", "--hardware", "cax41", "--node", "arm-01"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == (
        '--hardware is "cax41", which has no GPUs; allowed: a machine whose GPUs can be measured, '
        "such as dgx-h200\n"
    )


@pytest.mark.parametrize("verb", [["logs"], ["manifests", "--hardware", "dgx-h200"]])
@pytest.mark.parametrize("node", ["a;b", "", "-a", "DGX-01", "a\n", 54 * "a"])
def test_what_is_no_name_of_a_node_is_refused(
    verb: list[str], node: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*verb, f"--node={node}"])
    said = capsys.readouterr()
    assert (ended.value.code, said.out) == (2, "")
    assert f'"{node}" is no name of a node; allowed: at most 53 lower-case letters' in said.err


def test_a_node_is_one_word_of_the_shell() -> None:
    assert "logs 'job/nccl-a;b' > nccl.log" in collecting("a;b")


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_a_measurement_keeps_every_rule_of_an_environment(environment: str, tmp_path: Path) -> None:
    path = tmp_path / "acceptance.yaml"
    path.write_text(yaml.safe_dump_all(manifests(DGX, "dgx-01")))
    rules = load_environment(stack_file(ROOT, environment)).rules
    checked = check(environment, rules, read([str(path)]))
    assert checked.objects == 8
    assert checked.findings == ()
