"""What pools of rented GPU machines cannot be."""

from collections.abc import Iterator

from hardware.catalogue import Hardware
from settings.pools import AwsPool
from settings.problems import wrong

_HUGE_PAGES = ("hugepages_1gi_per_numa_node", "hugepages_2mi_per_numa_node")


def faults(path: str, pool: AwsPool, hardware: Hardware) -> Iterator[str]:
    """Limits and days that do not fit, and pages that no pod could ever use."""
    for key in _HUGE_PAGES:
        if pages := getattr(pool.tuning, key):
            # https://github.com/aws/karpenter-provider-aws/issues/3315
            allowed = "none, because Karpenter makes no machine for a pod that asks for huge pages"
            yield wrong(f"{path}.tuning.{key}", pages, allowed)
    if pool.reserved_until is not None and "reserved" not in pool.gpu_limits:
        yield (
            f'{path}.reserved_until is "{pool.reserved_until}", but {path}.gpu_limits has no '
            "reserved; allowed: both or neither."
        )
    if hardware.gpu_count == 0:
        yield wrong(f"{path}.hardware", hardware.name, "a machine with GPUs")
        return
    for capacity, limit in pool.gpu_limits.items():
        if limit % hardware.gpu_count:
            yield wrong(
                f"{path}.gpu_limits.{capacity}",
                limit,
                f"a multiple of {hardware.gpu_count}, the GPUs of one {hardware.name}",
            )
