"""The guard rails of the fleet: pure, one file each, and `ALL` of them for the gates."""

from policies.rules import (
    idle_gpu_node_pool,
    numa_admissible_shape,
    numa_exclusive_pods,
    numa_guaranteed_qos,
    numa_hugepages,
    numa_memory_limit,
    numa_mesh_sidecar,
    numa_mig_profile,
    numa_pod_purpose,
    numa_share,
)
from policies.rules.rule import Rule

ALL: tuple[Rule, ...] = (
    idle_gpu_node_pool.RULE,
    numa_admissible_shape.RULE,
    numa_exclusive_pods.RULE,
    numa_guaranteed_qos.RULE,
    numa_hugepages.RULE,
    numa_memory_limit.RULE,
    numa_mesh_sidecar.RULE,
    numa_mig_profile.RULE,
    numa_pod_purpose.RULE,
    numa_share.RULE,
)
