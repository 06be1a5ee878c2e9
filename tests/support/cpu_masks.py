"""CPU masks as the kernel prints them, for files of a simulated /proc."""

from collections.abc import Iterable


def cpu_mask(cpus: Iterable[int]) -> str:
    """Hexadecimal groups of 32 CPUs, the highest group first, as in /proc/irq/*/smp_affinity."""
    digits = f"{sum(1 << cpu for cpu in set(cpus)):x}"
    digits = digits.zfill(-(-len(digits) // 8) * 8)
    return ",".join(digits[start : start + 8] for start in range(0, len(digits), 8))
