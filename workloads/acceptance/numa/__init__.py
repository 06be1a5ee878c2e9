"""The NUMA probe: it does the work of `numactl --hardware` and `--membind` without numactl."""
