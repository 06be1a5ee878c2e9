"""The guard rails of the fleet: pure, one file each, and `ALL` of them for the gates."""

from policies.rules import (
    cost_daily_budget,
    cost_labels,
    idle_gang_assembly,
    idle_gang_fits,
    idle_gpu_node_pool,
    idle_job_deadline,
    isolation_image_digest,
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
    cost_daily_budget.RULE,
    cost_labels.RULE,
    idle_gang_assembly.RULE,
    idle_gang_fits.RULE,
    idle_gpu_node_pool.RULE,
    idle_job_deadline.RULE,
    isolation_image_digest.RULE,
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
