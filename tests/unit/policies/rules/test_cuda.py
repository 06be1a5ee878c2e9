"""The tables on GPUs, drivers and CUDA."""

import pytest

from policies.language.cuda import architectures, newest_cuda


@pytest.mark.parametrize(
    ("model", "runs", "does_not"),
    [
        (
            "NVIDIA H200",
            "sm_90 sm_90a compute_90 compute_90a compute_80 compute_50",
            "sm_80 sm_89 sm_100 compute_100 compute_100f sm_90f",
        ),
        (
            "NVIDIA RTX 4000 SFF Ada Generation",
            "sm_80 sm_86 sm_89 compute_89 compute_75",
            "sm_90 compute_90 sm_75 sm_89a compute_90a",
        ),
        ("NVIDIA A100-SXM4-80GB", "sm_80 compute_80 compute_70", "sm_86 sm_89 compute_86 sm_75"),
        (
            "NVIDIA B200",
            "sm_100 sm_100a sm_100f compute_100f compute_90 compute_100a",
            "sm_90 compute_90a sm_103 sm_103f compute_103 sm_120 sm_120f",
        ),
        (
            "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
            "sm_120 sm_120f compute_120a compute_100 compute_90",
            "sm_100 sm_100f compute_100f compute_100a sm_121 compute_121",
        ),
    ],
)
def test_machine_code_runs_within_a_major_and_ptx_from_its_own_on(
    model: str, runs: str, does_not: str
) -> None:
    found = set(architectures(model))

    assert set(runs.split()) <= found
    assert not set(does_not.split()) & found


def test_of_an_unknown_gpu_nothing_is_said() -> None:
    assert architectures("NVIDIA H300") == ()


@pytest.mark.parametrize(
    ("branch", "cuda"),
    [(449, 0), (450, 11), (524, 11), (525, 12), (570, 12), (579, 12), (580, 13), (595, 13)],
)
def test_each_cuda_runs_from_one_driver_on(branch: int, cuda: int) -> None:
    assert newest_cuda(branch) == cuda
