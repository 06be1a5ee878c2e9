"""How many of its GPUs a container's launcher uses, as its words tell."""

from typing import Any

import pytest

from policies.rules.idle.launcher import RULE
from tests.support.policies.asked import Resource, running, said
from tests.support.policies.gpu_pods import KINDS, container, gpu_container, pod


def eight(*words: str, env: dict[str, str] | None = None) -> Resource:
    variables = [{"name": name, "value": value} for name, value in (env or {}).items()]
    return {**running(gpu_container(gpus=8), *words), "env": variables}


def used(found: Any) -> list[str]:
    """The numbers in what is said."""
    return [sentence.split("than the ")[1].split(" ")[0] for sentence in said(RULE, found)]


@pytest.mark.parametrize(
    ("words", "gpus"),
    [
        (("torchrun", "train.py"), 1),
        (("python", "-m", "torch.distributed.run", "train.py"), 1),
        (("python", "-m", "torch.distributed.launch", "train.py"), 1),
        (("torchrun", "--nproc_per_node=1", "train.py"), 1),
        (("torchrun", "--nproc-per-node", "4", "train.py"), 4),
        (("sh", "-c", "set -e\ntorchrun --nproc-per-node 7 train.py"), 7),
        (("accelerate", "launch", "--num_processes", "2", "train.py"), 2),
        (("deepspeed", "--num_gpus=6", "train.py"), 6),
        (("srun", "--gpus-per-node=1", "train"), 1),
        (("vllm", "serve", "model"), 1),
        (("python", "-m", "vllm.entrypoints.openai.api_server"), 1),
        (("vllm", "serve", "model", "--tensor-parallel-size", "4"), 4),
        (("vllm", "serve", "model", "-tp", "1"), 1),
        (("sh", "-c", "CUDA_VISIBLE_DEVICES=0,1 python train.py"), 2),
    ],
)
def test_a_launcher_that_uses_fewer_gpus_is_refused(words: tuple[str, ...], gpus: int) -> None:
    assert used(pod(eight(*words))) == [str(gpus)]


@pytest.mark.parametrize(
    "words",
    [
        ("torchrun", "--nproc-per-node=8", "train.py"),
        ("torchrun", "--nproc_per_node", "8", "train.py"),
        ("torchrun", "--nproc-per-node=gpu", "train.py"),
        ("torchrun", "--nproc-per-node=$GPUS", "train.py"),
        ("accelerate", "launch", "--num_processes=16", "train.py"),
        ("vllm", "serve", "m", "--tensor-parallel-size=4", "--pipeline-parallel-size=2"),
        ("vllm", "serve", "m", "-tp", "8"),
        ("vllm", "serve", "m", "--data-parallel-size", "8"),
        ("vllm", "serve", "m", "--tensor-parallel-size", "2", "-dp", "4"),
        ("vllm", "serve", "m", "--config", "/etc/vllm.yaml"),
        ("torchrun", "--nproc-per-node=8", "train.py", "--tensor-parallel-size", "2"),
        ("sh", "-c", "torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py"),
        ("python", "train.py", "--num_processes=2", "--process_id=0"),
        ("python", "train.py"),
        ("python", "my_torchrunner.py"),
        (),
    ],
)
def test_a_launcher_that_uses_all_or_does_not_say_passes(words: tuple[str, ...]) -> None:
    assert said(RULE, pod(eight(*words))) == []


def test_the_environment_narrows_what_a_program_sees() -> None:
    assert used(pod(eight("python", "t.py", env={"CUDA_VISIBLE_DEVICES": "0"}))) == ["1"]
    assert used(pod(eight("python", "t.py", env={"CUDA_VISIBLE_DEVICES": "0,1,2"}))) == ["3"]
    assert said(RULE, pod(eight("python", env={"CUDA_VISIBLE_DEVICES": "0,1,2,3,4,5,6,7"}))) == []
    assert said(RULE, pod(eight("python", env={"CUDA_VISIBLE_DEVICES": "$(DEVICES)"}))) == []


def test_the_smallest_number_counts() -> None:
    both = eight("torchrun", "--nproc-per-node=4", env={"CUDA_VISIBLE_DEVICES": "0,1"})

    assert used(pod(both)) == ["2"]


def test_torchrun_may_be_told_by_the_environment() -> None:
    assert said(RULE, pod(eight("torchrun", "t.py", env={"PET_NPROC_PER_NODE": "8"}))) == []
    kubeflow = KINDS["PyTorchJob"]({"containers": [eight("torchrun", "t.py")]})
    assert said(RULE, kubeflow) == []


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "PyTorchJob"])
def test_the_container_is_named_in_every_kind(kind: str) -> None:
    (sentence,) = said(RULE, KINDS[kind]({"containers": [eight("torchrun", "t.py")]}))

    assert sentence.endswith(
        ": container 'main' must ask for no more GPUs than the 1 that its launcher uses."
    )


def test_one_gpu_or_none_is_not_too_many() -> None:
    assert said(RULE, pod(running(gpu_container(), "torchrun", "t.py"))) == []
    assert said(RULE, pod(running(container(), "torchrun", "t.py"))) == []


def test_gpus_that_nobody_can_count_are_told_by_another_rule() -> None:
    assert said(RULE, pod(running(gpu_container(gpus="$GPUS"), "torchrun", "t.py"))) == []


@pytest.mark.parametrize(
    "script",
    [
        "CUDA_VISIBLE_DEVICES=0 python prep.py; torchrun --nproc-per-node=gpu train.py",
        "#   --nproc_per_node=1    1 GPU per node\ntorchrun --nproc_per_node=${GPU_PER_NODE} t.py",
        "torchrun \\\n --nproc_per_node=8 t.py  # not --nproc_per_node=1",
        "CUDA_VISIBLE_DEVICES=0 python a.py & python b.py",
        "CUDA_VISIBLE_DEVICES=0 python a.py && deepspeed train.py",
        "for i in $(seq 0 7); do vllm serve m --port 80$i & done; wait",
        "seq 8 | xargs -P8 -I{} torchrun t.py",
        "echo 'torchrun t.py; now' && python train.py",
        "torchrun --nproc-per-node=$(nvidia-smi -L | wc -l) t.py",
        "export CUDA_VISIBLE_DEVICES=0\npython a.py &\nexport CUDA_VISIBLE_DEVICES=1\npython b.py",
    ],
)
def test_a_script_that_may_use_all_gpus_passes(script: str) -> None:
    assert said(RULE, pod(eight("bash", "-c", script))) == []


@pytest.mark.parametrize(
    ("script", "gpus"),
    [
        ("cd /app\ntorchrun train.py # --nproc_per_node=8", 1),
        ("export CUDA_VISIBLE_DEVICES=0,1\npython train.py", 2),
        ("python prep.py; torchrun --nproc_per_node=4 t.py", 4),
        ("pip install x && CUDA_VISIBLE_DEVICES=0 python t.py 2>&1 | tee log", 1),
        ("torchrun \\\n  --nproc_per_node=2 \\\n  t.py", 2),
        ("set -e; if [ -f x ]; then torchrun --nproc_per_node=3 t.py; fi", 3),
        ('echo "don\'t # stop"; torchrun --nproc_per_node=5 t.py', 5),
    ],
)
def test_a_script_that_uses_fewer_is_refused(script: str, gpus: int) -> None:
    assert used(pod(eight("bash", "-c", script))) == [str(gpus)]


def test_words_without_a_shell_are_one_command_whatever_is_in_them() -> None:
    url = ("vllm", "serve", "m", "--x=a&b;c|d", "--y", "don't # ask", "--tensor-parallel-size=8")

    assert said(RULE, pod(eight(*url))) == []


def test_several_programs_of_a_script_use_their_gpus_together() -> None:
    servers = "\n".join(f"CUDA_VISIBLE_DEVICES={gpu} vllm serve m &" for gpu in range(8))
    prepared = "torchrun --nproc-per-node=1 prepare.py && torchrun --nproc-per-node=8 train.py"

    assert said(RULE, pod(eight("sh", "-c", servers))) == []
    assert said(RULE, pod(eight("sh", "-c", prepared))) == []
    assert used(pod(eight("sh", "-c", "vllm serve a & vllm serve b"))) == ["2"]


def test_the_environment_and_kubeflow_may_tell_torchrun_too_little() -> None:
    told = eight("torchrun", "t.py", env={"PET_NPROC_PER_NODE": "2"})
    kubeflow = KINDS["PyTorchJob"]({"containers": [eight("torchrun", "t.py")]})
    kubeflow["spec"]["nprocPerNode"] = "1"

    assert used(pod(told)) == ["2"]
    assert used(kubeflow) == ["1"]
    kubeflow["spec"]["nprocPerNode"] = "gpu"
    assert said(RULE, kubeflow) == []
    flag = eight("torchrun", "--nproc-per-node=8", env={"PET_NPROC_PER_NODE": "2"})
    assert said(RULE, pod(flag)) == []


def test_kubeflows_trainer_tells_torchrun_all_gpus_unless_the_job_says_fewer() -> None:
    trainer: dict[str, Any] = {
        "command": ["torchrun", "t.py"],
        "resourcesPerNode": {"limits": {"nvidia.com/gpu": 8}},
    }
    job = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "train"},
        "spec": {"trainer": trainer},
    }

    assert said(RULE, job) == []
    trainer["numProcPerNode"] = 2
    assert used(job) == ["2"]


def test_the_image_of_vllm_serves_without_a_command() -> None:
    image = "vllm/vllm-openai:v0.11.0"
    served = {**gpu_container(gpus=8), "image": image, "args": ["--model", "m"]}

    assert used(pod(served)) == ["1"]
    parallel = {**served, "args": ["--model", "m", "--tensor-parallel-size", "8"]}
    assert said(RULE, pod(parallel)) == []
    assert said(RULE, pod({**served, "command": ["python", "batch.py"]})) == []
