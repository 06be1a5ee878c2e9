"""Judges sysctls: the kernel must have them, take their values and work with them together."""

import re
from collections.abc import Iterator, Mapping

from hardware.catalogue import Hardware
from ignition.boot import files, parsing
from ignition.boot.config import BootConfig

_GIB = 1024**3
# name -> smallest and largest value that the kernel of a node should be given
_NUMBERS: dict[str, tuple[int, int]] = {
    "net.ipv4.ip_forward": (1, 1),
    "net.ipv6.conf.all.forwarding": (0, 1),
    "net.ipv6.conf.default.forwarding": (0, 1),
    "net.ipv6.conf.all.disable_ipv6": (0, 1),
    "net.ipv4.conf.all.rp_filter": (0, 2),
    "net.ipv4.conf.default.rp_filter": (0, 2),
    "net.ipv4.conf.all.forwarding": (1, 1),
    "net.bridge.bridge-nf-call-iptables": (0, 1),
    "net.bridge.bridge-nf-call-ip6tables": (0, 1),
    "net.ipv4.tcp_slow_start_after_idle": (0, 1),
    "net.ipv4.tcp_mtu_probing": (0, 2),
    "net.core.rmem_max": (2048, 2**31 - 1),
    "net.core.wmem_max": (4608, 2**31 - 1),
    "net.core.rmem_default": (2048, 2**31 - 1),
    "net.core.wmem_default": (4608, 2**31 - 1),
    "net.core.netdev_max_backlog": (1, 2**31 - 1),
    "net.core.netdev_budget": (1, 2**31 - 1),
    "net.core.somaxconn": (1, 2**31 - 1),
    "net.core.busy_poll": (0, 10000),
    "net.core.busy_read": (0, 10000),
    "net.core.default_qdisc": (0, 0),
    "vm.dirty_background_bytes": (0, 2**63),
    "vm.dirty_bytes": (8192, 2**63),
    "vm.dirty_background_ratio": (0, 100),
    "vm.dirty_ratio": (0, 100),
    "vm.dirty_expire_centisecs": (0, 2**31 - 1),
    "vm.dirty_writeback_centisecs": (0, 2**31 - 1),
    "vm.min_free_kbytes": (1024, 2**31 - 1),
    "vm.hugetlb_shm_group": (0, 2**32 - 1),
    "vm.nr_hugepages": (0, 2**31 - 1),
    "vm.nr_overcommit_hugepages": (0, 2**31 - 1),
    "vm.swappiness": (0, 200),
    "vm.overcommit_memory": (0, 2),
    "vm.overcommit_ratio": (0, 100),
    "vm.panic_on_oom": (0, 2),
    "vm.max_map_count": (65530, 2**31 - 1),
    "vm.zone_reclaim_mode": (0, 7),
    "vm.stat_interval": (1, 3600),
    "vm.compaction_proactiveness": (0, 100),
    "vm.compact_unevictable_allowed": (0, 1),
    "vm.watermark_boost_factor": (0, 150000),
    "vm.watermark_scale_factor": (1, 3000),
    "vm.page-cluster": (0, 31),
    "vm.vfs_cache_pressure": (0, 1000),
    "kernel.numa_balancing": (0, 3),
    "kernel.nmi_watchdog": (0, 1),
    "kernel.watchdog": (0, 1),
    "kernel.watchdog_thresh": (0, 60),
    "kernel.panic": (-1, 3600),
    "kernel.panic_on_oops": (0, 1),
    "kernel.pid_max": (301, 4194304),
    "kernel.threads-max": (20, 2**31 - 1),
    "kernel.sched_rt_runtime_us": (-1, 1000000),
    "kernel.sched_rt_period_us": (1, 2**31 - 1),
    "kernel.sched_autogroup_enabled": (0, 1),
    "kernel.timer_migration": (0, 1),
    "kernel.hung_task_timeout_secs": (0, 2**31 - 1),
    "kernel.perf_event_paranoid": (-1, 4),
    "kernel.keys.root_maxkeys": (1, 2**31 - 1),
    "kernel.keys.root_maxbytes": (1, 2**31 - 1),
    "kernel.kptr_restrict": (0, 2),
    "kernel.dmesg_restrict": (0, 1),
    "kernel.unprivileged_bpf_disabled": (0, 2),
    "kernel.shmmax": (1, 2**64),
    "kernel.shmall": (1, 2**64),
    "fs.aio-max-nr": (65536, 2**31 - 1),
    "fs.file-max": (8192, 2**63),
    "fs.nr_open": (1024, 2147483584),
    "fs.inotify.max_user_watches": (8192, 2**31 - 1),
    "fs.inotify.max_user_instances": (128, 2**31 - 1),
    "user.max_user_namespaces": (0, 2**31 - 1),
}
_TEXTS = {"net.core.default_qdisc", "kernel.core_pattern", "net.ipv4.tcp_congestion_control"}
_LARGEST_FREE_SHARE = 20  # min_free_kbytes above a twentieth of the memory starves pods


def check(config: BootConfig, hardware: Hardware, problems: list[str]) -> Mapping[str, str]:
    """Return the sysctls that hold after the boot; mistakes are added to `problems`."""
    found: dict[str, str] = {}
    for path, raw, value in files.lines(config, "/etc/sysctl.d"):
        name = raw.removeprefix("-").replace("/", ".")
        if value is None or not name:
            problems.append(f'{path}: a line is not "name = value"; correct it')
            continue
        if found.get(name, value) != value:
            problems.append(f"{path}: {name} is set to two different values; set it once")
        found[name] = value
        problems += _value(path, name, value)
    problems += _together(found, hardware)
    return found


def _value(path: str, name: str, value: str) -> Iterator[str]:
    bounds = _NUMBERS.get(name)
    if name in _TEXTS:
        return
    if bounds is None:
        if near := parsing.nearest(name, _NUMBERS, cutoff=0.85):
            yield f"{path}: the kernel has no {parsing.shown(name)}; write {near}"
        return
    if not re.fullmatch(r"-?\d+", value):
        yield f'{path}: {name} = "{parsing.shown(value)}" is no number; write one'
    elif not bounds[0] <= int(value) <= bounds[1]:
        yield f"{path}: {name} = {value} is not within {bounds[0]} to {bounds[1]}; correct it"


def _number(found: Mapping[str, str], name: str) -> int | None:
    value = found.get(name, "")
    return int(value) if re.fullmatch(r"-?\d+", value) else None


def _together(found: Mapping[str, str], hardware: Hardware) -> Iterator[str]:
    if "net.ipv4.ip_forward" not in found:
        yield "net.ipv4.ip_forward is not set, and kubeadm refuses to join; set it to 1"
    for unit in ("bytes", "ratio"):
        most, background = (
            _number(found, f"vm.{name}_{unit}") for name in ("dirty", "dirty_background")
        )
        if most and background is not None and background >= most:
            yield (
                f"vm.dirty_background_{unit} = {background} is not below vm.dirty_{unit} = {most}, "
                "so writers stop before the kernel writes back; lower it"
            )
    for name in ("dirty", "dirty_background"):
        if _number(found, f"vm.{name}_bytes") and _number(found, f"vm.{name}_ratio"):
            yield f"vm.{name}_bytes and vm.{name}_ratio exclude each other; keep the bytes"
    if (most := _number(found, "vm.dirty_bytes")) and most > hardware.memory_gib * _GIB // 5:
        yield (
            f"vm.dirty_bytes = {most} is more than a fifth of the memory of {hardware.name}; lower "
            "it"
        )
    pair = (f"vm.{name}" for name in ("dirty_bytes", "dirty_background_bytes"))
    given = [name for name in pair if name in found]
    if len(given) == 1:
        yield f"{given[0]} stands without its other half; set both vm.dirty_*_bytes"
    free = _number(found, "vm.min_free_kbytes")
    if free and free * 1024 * _LARGEST_FREE_SHARE > hardware.memory_gib * _GIB:
        yield (
            f"vm.min_free_kbytes = {free} keeps more than a twentieth of the memory of "
            f"{hardware.name} from everybody; lower it"
        )
