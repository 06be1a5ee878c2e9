"""Parses unit files as systemd does, and finds what systemd would refuse or ignore.

Section and directive names follow systemd.unit(5), systemd.service(5), systemd.timer(5),
systemd.mount(5) and systemd-system.conf(5) of systemd 257.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ignition.boot.parsing import names, nearest, shown

_SECTIONS = names("Unit Install Service Timer Mount Automount Swap Socket Path Slice Scope Manager")
_DIRECTIVES = {
    "Unit": names("""
        Description Documentation Wants Requires Requisite BindsTo PartOf Upholds Conflicts Before
        After OnFailure OnSuccess JobTimeoutSec StartLimitIntervalSec StartLimitBurst
        DefaultDependencies RefuseManualStart RefuseManualStop StopWhenUnneeded IgnoreOnIsolate
        RequiresMountsFor WantsMountsFor ConditionPathExists ConditionPathIsDirectory
        ConditionPathIsMountPoint ConditionPathExistsGlob ConditionFileNotEmpty
        ConditionDirectoryNotEmpty ConditionKernelCommandLine ConditionVirtualization
        ConditionArchitecture ConditionFirstBoot ConditionHost ConditionFileIsExecutable
        AssertPathExists SurviveFinalKillSignal
        """),
    "Install": names("WantedBy RequiredBy UpheldBy Alias Also DefaultInstance"),
    "Service": names("""
        Type ExecStart ExecStartPre ExecStartPost ExecStop ExecStopPost ExecReload ExecCondition
        Restart RestartSec RestartSteps RestartMaxDelaySec RemainAfterExit TimeoutStartSec
        TimeoutStopSec TimeoutSec RuntimeMaxSec Environment EnvironmentFile PassEnvironment
        WorkingDirectory User Group UMask StandardOutput StandardError StandardInput
        SyslogIdentifier
        KillMode KillSignal Nice OOMScoreAdjust CPUAffinity CPUSchedulingPolicy
        CPUSchedulingPriority IOSchedulingClass IOSchedulingPriority NUMAPolicy NUMAMask Slice
        Delegate CPUWeight CPUQuota AllowedCPUs AllowedMemoryNodes MemoryMax MemoryHigh MemoryMin
        TasksMax IOWeight LimitNOFILE LimitNPROC LimitMEMLOCK LimitCORE LimitSTACK LimitRTPRIO
        LimitRTTIME LimitAS LimitFSIZE LimitDATA LimitLOCKS LimitSIGPENDING LimitNICE
        LimitMSGQUEUE LimitRSS LimitCPU ProtectSystem ProtectHome PrivateTmp PrivateDevices
        PrivateNetwork NoNewPrivileges ReadWritePaths ReadOnlyPaths CapabilityBoundingSet
        AmbientCapabilities RuntimeDirectory StateDirectory CacheDirectory LogsDirectory
        ConfigurationDirectory PIDFile BusName NotifyAccess WatchdogSec GuessMainPID
        SuccessExitStatus RootDirectory DynamicUser SupplementaryGroups RestrictAddressFamilies
        SystemCallFilter LoadCredential SetCredential
        """),
    "Timer": names(
        "OnActiveSec OnBootSec OnStartupSec OnUnitActiveSec OnUnitInactiveSec OnCalendar "
        "AccuracySec RandomizedDelaySec Persistent Unit WakeSystem FixedRandomDelay"
    ),
    "Path": names(
        "PathExists PathExistsGlob PathChanged PathModified DirectoryNotEmpty Unit MakeDirectory "
        "DirectoryMode TriggerLimitIntervalSec TriggerLimitBurst"
    ),
    "Manager": names("""
        CPUAffinity NUMAPolicy NUMAMask DefaultLimitMEMLOCK DefaultLimitNOFILE DefaultLimitNPROC
        DefaultTasksMax DefaultTimeoutStartSec DefaultTimeoutStopSec LogLevel RuntimeWatchdogSec
        RebootWatchdogSec DefaultEnvironment DefaultCPUAccounting DefaultMemoryAccounting
        DefaultIOAccounting DefaultTasksAccounting CtrlAltDelBurstAction StatusUnitFormat
    """),
    "Mount": names("What Where Type Options DirectoryMode TimeoutSec SloppyOptions"),
}
_TYPES = ("simple", "exec", "forking", "oneshot", "dbus", "notify", "notify-reload", "idle")
_RESTARTS = names("no always on-success on-failure on-abnormal on-abort on-watchdog")
_BOOLEANS = ("yes", "no", "true", "false", "on", "off", "1", "0")
_VALUES = {
    "Type": _TYPES,
    "Restart": tuple(_RESTARTS),
    "RemainAfterExit": _BOOLEANS,
    "DefaultDependencies": _BOOLEANS,
    "Persistent": _BOOLEANS,
}


@dataclass(frozen=True, kw_only=True)
class Directive:
    """A directive with its section."""

    section: str
    name: str
    value: str


@lru_cache(maxsize=1024)
def parse(text: str) -> tuple[Directive, ...]:
    """The directives of a unit file in their order, continued lines joined."""
    section, lines = "", []
    for raw in re.sub(r"\\\n\s*", " ", text).splitlines():
        line = raw.strip()
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
        elif line and line[0] not in "#;":
            name, _, value = line.partition("=")
            lines.append(Directive(section=section, name=name.strip(), value=value.strip()))
    return tuple(lines)


def values(lines: tuple[Directive, ...], name: str) -> list[str]:
    """The values of a directive; an empty one takes back those before it."""
    found: list[str] = []
    for line in lines:
        if line.name == name:
            found = [*found, line.value] if line.value else []
    return found


@lru_cache(maxsize=1024)
def problems(unit: str, text: str) -> tuple[str, ...]:
    """Return what systemd ignores or refuses in the text of a unit or drop-in."""
    return tuple(_problems(unit, text))


def _problems(unit: str, text: str) -> Iterator[str]:
    for section in re.findall(r"^\[(.*)\]$", text, re.MULTILINE):
        if section not in _SECTIONS and not section.startswith("X-"):
            yield f"{unit}: systemd knows no section [{section}]; correct its name"
    for line in parse(text):
        known = _DIRECTIVES.get(line.section)
        if not line.section:
            yield f'{unit}: "{shown(line.name)}" stands in no section; put it under one'
        elif known is not None and line.name not in known:
            yield from _misspelt(unit, line, known)
        allowed = _VALUES.get(line.name)
        if allowed and line.section != "Mount" and line.value not in allowed:
            yield f'{unit}: {line.name}="{line.value}" must be one of {", ".join(allowed)}'


def _misspelt(unit: str, line: Directive, known: frozenset[str]) -> Iterator[str]:
    same = [name for name in known if name.lower() == line.name.lower()]
    near = same[0] if same else nearest(line.name, known, cutoff=0.8)
    elsewhere = [section for section, listed in _DIRECTIVES.items() if line.name in listed]
    if near:
        yield (f"{unit}: systemd passes over {shown(line.name)} in [{line.section}]; write {near}")
    elif elsewhere:
        yield (
            f"{unit}: systemd passes over {line.name} in [{line.section}]; move it to "
            f"[{elsewhere[0]}]"
        )
