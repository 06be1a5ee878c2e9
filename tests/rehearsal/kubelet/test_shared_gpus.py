"""Whole GPUs, instances of MIG, time slices and MPS clients are given as NVIDIA's plugin says."""

from settings.gpu_sharing import GpuSharing
from tests.support.rehearsal.kubelets import Kubelets

GPU = "nvidia.com/gpu"


def test_an_instance_of_mig_comes_from_the_numa_node_of_the_pods_cpus(kubelets: Kubelets) -> None:
    layout = {"3g.71gb": 2}
    node = kubelets.node("dgx-h200", GpuSharing(mode="mig", mig_layout=layout))
    for number in range(3):
        kubelets.bind(f"pod-{number}", node, cpu="32", **{"nvidia.com/mig-3g.71gb": "1"})

    for number in range(3):
        given = kubelets.runs(f"pod-{number}")
        (instance,) = given["devices"]["nvidia.com/mig-3g.71gb"]
        gpu = int(instance.split("-")[1])
        assert given["memory_numa_nodes"] == [gpu // 4]


def test_a_container_with_two_time_slices_is_refused_by_the_plugin(kubelets: Kubelets) -> None:
    node = kubelets.node("dgx-h200", GpuSharing(mode="time-slicing", replicas=4))
    kubelets.bind("one", node, cpu="2", **{GPU: "1"})
    kubelets.bind("two", node, cpu="2", **{GPU: "2"})

    assert kubelets.runs("one")["devices"][GPU] == ["GPU-0::0"]
    assert kubelets.refusal("two") == (
        "UnexpectedAdmissionError",
        (
            "Pod was rejected: Allocate failed due to rpc error: code = Unknown desc = invalid "
            'allocation request for "nvidia.com/gpu": invalid request: maximum request size for '
            "shared resources is 1; found 2, which is unexpected"
        ),
    )


def test_clients_of_mps_are_spread_over_the_gpus(kubelets: Kubelets) -> None:
    node = kubelets.node("dgx-h200", GpuSharing(mode="mps", replicas=4))
    for number in range(9):
        kubelets.bind(f"pod-{number}", node, cpu="2", **{GPU: "1"})

    given = [kubelets.runs(f"pod-{number}")["devices"][GPU][0] for number in range(9)]
    gpus = [replica.split("::")[0] for replica in given]
    assert max(gpus.count(gpu) for gpu in gpus) <= 3
    assert len(set(given)) == 9


def test_gpus_of_one_numa_node_are_given_together_where_kubelet_aligns_nothing(
    kubelets: Kubelets,
) -> None:
    node = kubelets.node("dgx-h200")
    kubelets.configure(node, {"topologyManagerPolicy": "none"})
    given = []
    for name, count in {"a": "3", "b": "2", "c": "3"}.items():
        kubelets.bind(name, node, cpu="2", **{GPU: count})
        given.append(kubelets.runs(name)["devices"][GPU])

    assert given == [
        ["GPU-0", "GPU-1", "GPU-2"],
        ["GPU-4", "GPU-5"],
        ["GPU-3", "GPU-6", "GPU-7"],
    ]
