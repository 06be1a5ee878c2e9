"""The environment that the table's objects stand in."""

from policies.language.facts import Facts
from tests.support.rule_facts import pool, shape

FACTS: Facts = {
    "pools": [
        pool(
            "dgx",
            exclusive=True,
            rdma="rdma/rails",
            hugepages_1gi_mib=65536,
            shapes=[shape(hugepages_1gi_mib=65536)],
            cpus_per_gpu=27,
            memory_mib_per_gpu=260480,
            gpu_memory_mib=144384,
            architecture="sm_90",
            runs=["sm_90", "sm_90a", "compute_80", "compute_90"],
            driver=570,
            newest_cuda=12,
        ),
        pool(
            "serve",
            purpose="inference",
            hugepages_2mi_mib=4096,
            shapes=[shape(gpus=4, cpus=108, memory_mib=1041920, hugepages_2mi_mib=2048)],
            mig_profiles=["1g.18gb", "1g.18gb+me"],
            cpus_per_gpu=27,
            memory_mib_per_gpu=260480,
            gpu_memory_mib=36096,
            architecture="sm_89",
            runs=["sm_86", "sm_89"],
            driver=580,
            newest_cuda=13,
        ),
        pool("bare", purpose="batch", gpus=0),
        pool("ether", rdma="rdma/rails", rdma_on_host=True),
        pool("slices", purpose="inference", shares_gpus=True),
        pool("cheap", spot=True),
        pool("burst", spot=True),
    ],
    "queues": [
        {"name": "research", "gpus": 16, "weight": 4, "priorities": ["research", "interactive"]},
        {"name": "production", "gpus": 64, "pool": "dgx"},
        {"name": "desk", "team": "desk", "gpus": 1000, "priorities": [], "reclaimable": False},
    ],
}
