"""Where GPU pods say that they write, and what is mounted there."""

from typing import Any

import pytest

from policies.rules.idle.writable_layer import RULE
from tests.support.policies.asked import running, said
from tests.support.policies.gpu_pods import KINDS, container, gpu_container, pod


def lost(found: Any) -> list[str]:
    """The paths in what is said."""
    return [each.split("a volume at ")[1].split(", to ")[0] for each in said(RULE, found)]


def mounted(found: dict[str, Any], *paths: str) -> dict[str, Any]:
    return {**found, "volumeMounts": [{"name": "v", "mountPath": path} for path in paths]}


def writing(*words: str) -> dict[str, Any]:
    return running(gpu_container(), *words)


def with_variable(name: str, value: object) -> dict[str, Any]:
    return {**gpu_container(), "env": [{"name": name, "value": value}]}


@pytest.mark.parametrize("kind", KINDS)
def test_the_path_and_the_container_are_named_in_every_kind(kind: str) -> None:
    (sentence,) = said(RULE, KINDS[kind]({"containers": [writing("t", "--output_dir=/out")]}))

    assert sentence.endswith(
        " must have a volume at /out, to which container 'main' writes: a claim of its own, or of "
        "class scratch for what may go with the pod."
    )


@pytest.mark.parametrize(
    "words",
    [
        ("python", "t.py", "--output_dir", "/out/a"),
        ("python", "t.py", "--output-dir=/out/a"),
        ("sh", "-c", "python t.py --checkpoint-dir '/out/a' > log"),
        ("sh", "-c", "python t.py --save_path /out/a; sync"),
        ("torchrun", "t.py", "--checkpoint-file=/out/a"),
        ("bash", "-c", "python t.py --output_file /out/a data"),
        ("vllm", "serve", "m", "--download-dir", "/out/a"),
    ],
)
def test_options_say_where(words: tuple[str, ...]) -> None:
    assert lost(pod(writing(*words))) == ["/out/a"]
    assert lost(pod(mounted(writing(*words), "/out"))) == []
    assert lost(pod(mounted(writing(*words), "/out/a/"))) == []
    assert lost(pod(mounted(writing(*words), "/ou", "/out/a/b"))) == ["/out/a"]


@pytest.mark.parametrize("name", ["HF_HOME", "TORCH_HOME", "CKPT_DIR", "MY_CHECKPOINT_FILE"])
def test_variables_say_where(name: str) -> None:
    assert lost(pod(with_variable(name, "/out"))) == ["/out"]
    assert lost(pod(mounted(with_variable(name, "/out"), "/out"))) == []


@pytest.mark.parametrize(
    "found",
    [
        writing("python", "t.py", "--output_dir", "out"),
        writing("python", "t.py", "--output_dir", "s3://bucket/out"),
        writing("python", "t.py", "--output_dir", "$OUT"),
        writing("sh", "-c", "python t.py --output_dir /out/${RUN}"),
        writing("python", "t.py", "--output_dir", "/dev/shm/out"),
        writing("python", "t.py", "--data_dir", "/data"),
        writing("sh", "-c", "# --output_dir /out\npython t.py"),
        with_variable("HF_HOME", "$(CACHE)/hf"),
        with_variable("INPUT_DIR", "/in"),
        with_variable("HF_HOME", None),
    ],
)
def test_what_is_elsewhere_or_not_known_passes(found: dict[str, Any]) -> None:
    assert lost(pod(found)) == []


def test_a_pod_without_gpus_may_write_where_it_wants() -> None:
    assert lost(pod(running(container(), "t", "--output_dir", "/out"))) == []


def test_volumes_of_volcano_and_artifacts_of_argo_count() -> None:
    job = KINDS["Volcano Job"]({"containers": [writing("t", "--output_dir", "/out")]})
    job["spec"]["volumes"] = [{"mountPath": "/out", "volumeClaimName": "out"}]
    workflow = KINDS["Workflow"]({"containers": [writing("t", "--output_dir", "/out")]})
    (step,) = workflow["spec"]["templates"]
    step["outputs"] = {"artifacts": [{"name": "out", "path": "/out"}]}

    assert lost(job) == []
    assert lost(workflow) == []
