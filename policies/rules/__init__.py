"""The guard rails of the fleet: pure, one file each, and `ALL` of them for the gates."""

from policies.rules import idle_gpu_node_pool, numa_guaranteed_qos
from policies.rules.rule import Rule

ALL: tuple[Rule, ...] = (
    idle_gpu_node_pool.RULE,
    numa_guaranteed_qos.RULE,
)
