"""kubelet's own validation of its configuration, as it is done when it starts.

ValidateKubeletConfiguration of pkg/kubelet/apis/config/validation, the feature gates, and what
cmd/kubelet/app and NewMainKubelet parse once more, all of Kubernetes 1.36.3. A conformance test
asks kubelet's own code about the same configurations.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from ignition.boot import kubelet_reserved, kubelet_schema
from ignition.boot.kubelet_fields import MINOR_BEFORE
from ignition.boot.kubelet_schema import (
    GATES,
    NEEDED_GATES,
    SECOND,
    TLS_CIPHERS,
    TLS_CURVES,
    TLS_VERSIONS,
    duration,
)
from ignition.boot.parsing import Json, nearest, shown

_MOST = 2**63
_PORT = (0, 65535)
# the smallest and the largest value of each field
_RANGES: Mapping[str, tuple[float, float]] = {
    "nodeLeaseDurationSeconds": (0, _MOST),
    "eventBurst": (0, _MOST),
    "eventRecordQPS": (0, _MOST),
    "kubeAPIBurst": (0, _MOST),
    "kubeAPIQPS": (0, _MOST),
    "registryBurst": (0, _MOST),
    "registryPullQPS": (0, _MOST),
    "maxOpenFiles": (0, _MOST),
    "maxPods": (0, _MOST),
    "podsPerCore": (0, _MOST),
    "maxParallelImagePulls": (1, _MOST),
    "containerLogMaxWorkers": (1, _MOST),
    "containerLogMaxFiles": (2, _MOST),
    "nodeStatusMaxImages": (-1, _MOST),
    "oomScoreAdj": (-1000, 1000),
    "imageGCHighThresholdPercent": (0, 100),
    "imageGCLowThresholdPercent": (0, 100),
    "iptablesDropBit": (0, 31),
    "iptablesMasqueradeBit": (0, 31),
    "port": _PORT,
    "healthzPort": _PORT,
    "readOnlyPort": _PORT,
}
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "hairpinMode": ("", "promiscuous-bridge", "hairpin-veth", "none"),
    "configMapAndSecretChangeDetectionStrategy": ("", "Get", "Cache", "Watch"),
    "tlsMinVersion": ("", *TLS_VERSIONS),
}
_VERIFY = (
    "NeverVerify",
    "NeverVerifyPreloadedImages",
    "NeverVerifyAllowlistedImages",
    "AlwaysVerify",
)
_NAMESPACED = re.compile(r"kernel\.(shm|msg|sem)|fs\.mqueue\.|net\.")
_SYSCTL = re.compile(
    r"[a-z0-9]([-_a-z0-9]*[a-z0-9])?([./][a-z0-9]([-_a-z0-9]*[a-z0-9])?)*(\*|[./]\*)?", re.ASCII
)
_GRACEFUL = ("shutdownGracePeriod", "shutdownGracePeriodCriticalPods")


def problems(found: Json) -> Iterator[str]:
    """Yield what kubelet refuses of a configuration that it can decode."""
    gates = cast("Mapping[str, bool]", found.get("featureGates") or {})
    yield from _gates(gates)
    for each in (_ranges, _choices, _durations, _images, kubelet_reserved.problems, _texts):
        yield from (f"kubelet: {problem}" for problem in each(found))
    for judge in (_shutdown, _gated, _logging):
        yield from (f"kubelet: {problem}" for problem in judge(found, gates))


def _gates(given: Mapping[str, bool]) -> Iterator[str]:
    for name, value in given.items():
        if name in ("AllAlpha", "AllBeta"):
            yield f"kubelet: the feature gate {name} switches what nobody has named; name each gate"
        elif name not in GATES:
            near = nearest(name, GATES)
            yield (
                f"kubelet: 1.36 has no feature gate {shown(name)}, and does not start with it; "
                f"{f'write {near}' if near else 'remove it'}"
            )
        elif GATES[name][1] and value != GATES[name][0]:
            yield (
                f"kubelet: the feature gate {name} is locked to {str(GATES[name][0]).lower()}, and "
                "kubelet does not start with the opposite; remove it"
            )
    for name, needed in NEEDED_GATES.items():
        missing = [other for other in needed if not _on(other, given)]
        if missing and _on(name, given):
            yield (
                f"kubelet: the feature gate {name} cannot be on while {missing[0]} is off; "
                f"switch {missing[0]} on or {name} off"
            )


def _on(gate: str, gates: Mapping[str, bool]) -> bool:
    """Return whether a gate is on."""
    return gates.get(gate, GATES.get(gate, (False, False))[0])


def _ranges(found: Json) -> Iterator[str]:
    for name, (low, high) in _RANGES.items():
        value = found.get(name)
        if isinstance(value, int) and not low <= value <= high:
            allowed = f"{low} or more" if high == _MOST else f"{low} to {high}"
            yield f"{name} {value} is refused; allowed are {allowed}"
    factor = found.get("memoryThrottlingFactor")
    if isinstance(factor, (int, float)) and not 0 < factor <= 1:
        yield f"memoryThrottlingFactor {factor} is refused; it must be above 0 and at most 1"
    identities = _inner(found, "userNamespaces").get("idsPerPod")
    if isinstance(identities, int) and (
        identities < 65536 or identities % 65536 or identities >= 2**32
    ):
        yield f"userNamespaces.idsPerPod {identities} must be a multiple of 65536"
    rate = _inner(found, "tracing").get("samplingRatePerMillion")
    if isinstance(rate, int) and not 0 <= rate <= 1_000_000:
        yield f"tracing.samplingRatePerMillion {rate} must be 0 to 1000000"


def _inner(found: Json, *names: str) -> dict[str, Any]:
    """The object at a path of fields, {} where there is none."""
    value: Any = found
    for name in names:
        value = value.get(name) or {}
    return cast("dict[str, Any]", value)


def _choices(found: Json) -> Iterator[str]:
    for name, choices in _CHOICES.items():
        if name in found and found[name] not in choices:
            yield (
                f'{name} "{shown(str(found[name]))}" is unknown; allowed are '
                f"{', '.join(choices[1:])}"
            )
    for cipher in cast("list[str]", found.get("tlsCipherSuites") or []):
        if cipher not in TLS_CIPHERS:
            yield f'tlsCipherSuites has the unknown "{shown(cipher)}"; remove it'
    curves = cast("list[int]", found.get("tlsCurvePreferences") or [])
    for curve in sorted(set(curves)):
        if curve not in TLS_CURVES:
            yield f"tlsCurvePreferences has the unknown {curve}; remove it"
        elif curves.count(curve) > 1:
            yield f"tlsCurvePreferences has {curve} twice; remove one"
    mode = _inner(found, "authorization").get("mode") or "Webhook"
    if mode not in ("AlwaysAllow", "Webhook"):
        yield f'authorization.mode "{shown(mode)}" is unknown; allowed are Webhook, AlwaysAllow'
    swap = _inner(found, "memorySwap").get("swapBehavior", "")
    if swap not in ("", "NoSwap", "LimitedSwap"):
        yield f'memorySwap.swapBehavior "{shown(swap)}" is unknown; allowed are NoSwap, LimitedSwap'


def _durations(found: Json) -> Iterator[str]:
    interval = duration(found.get("containerLogMonitorInterval", "10s"))
    if interval is not None and interval < 3 * SECOND:
        yield "containerLogMonitorInterval must be 3s or more"
    oldest = duration(found.get("imageMaximumGCAge", "0")) or 0
    if (duration(found.get("imageMinimumGCAge", "0")) or 0) < 0:
        yield "imageMinimumGCAge must be 0 or more"
    # kubelet takes 0 for not given
    youngest = duration(found.get("imageMinimumGCAge", "0")) or 120 * SECOND
    if oldest < 0 or (0 < oldest <= youngest):
        yield "imageMaximumGCAge must be 0, or more than imageMinimumGCAge (2m by default)"


def _images(found: Json) -> Iterator[str]:
    pulls = found.get("maxParallelImagePulls")
    if found.get("serializeImagePulls") is True and isinstance(pulls, int) and pulls > 1:
        yield (
            f"maxParallelImagePulls {pulls} cannot stand beside serializeImagePulls true; set it "
            "to false"
        )
    high = found.get("imageGCHighThresholdPercent", 85)
    low = found.get("imageGCLowThresholdPercent", 80)
    if isinstance(high, int) and isinstance(low, int) and low >= high:
        yield (
            f"imageGCLowThresholdPercent {low} must be below imageGCHighThresholdPercent {high} "
            "(80 and 85 by default)"
        )


def _shutdown(found: Json, gates: Mapping[str, bool]) -> Iterator[str]:
    whole, critical = (duration(found.get(name, "0")) or 0 for name in _GRACEFUL)
    if critical > whole:
        yield (
            "shutdownGracePeriodCriticalPods is a part of shutdownGracePeriod and must not be "
            "longer"
        )
    for name, given in zip(_GRACEFUL, (whole, critical), strict=True):
        if given < 0 or 0 < given < SECOND:
            yield f"{name} must be 0, or 1s or more"
    if (whole or critical) and not _on("GracefulNodeShutdown", gates):
        yield (
            "shutdownGracePeriod needs the feature gate GracefulNodeShutdown, which is off; "
            "remove one"
        )
    if found.get("shutdownGracePeriodByPodPriority"):
        if whole or critical:
            yield (
                "shutdownGracePeriodByPodPriority cannot stand beside shutdownGracePeriod; keep one"
            )
        if not _on("GracefulNodeShutdownBasedOnPodPriority", gates):
            yield (
                "shutdownGracePeriodByPodPriority needs the feature gate "
                "GracefulNodeShutdownBasedOnPodPriority, which is off; remove one"
            )


def _gated(found: Json, gates: Mapping[str, bool]) -> Iterator[str]:
    """Yield the fields that need a feature gate that is off."""
    period = duration(found.get("cpuCFSQuotaPeriod", "100ms"))
    if _on("CustomCPUCFSQuotaPeriod", gates):
        if period is not None and not SECOND // 1000 <= period <= SECOND:
            yield "cpuCFSQuotaPeriod must be 1ms to 1s"
    elif period is not None and period != SECOND // 10:
        yield (
            "cpuCFSQuotaPeriod needs the feature gate CustomCPUCFSQuotaPeriod, which is off; "
            "remove it"
        )
    longest = _inner(found, "crashLoopBackOff").get("maxContainerRestartPeriod")
    if longest is not None and not _on("KubeletCrashLoopBackOffMax", gates):
        yield (
            "crashLoopBackOff needs the feature gate KubeletCrashLoopBackOffMax, which is off; "
            "remove it"
        )
    elif longest is not None and not SECOND <= (duration(longest) or 0) <= 300 * SECOND:
        yield "crashLoopBackOff.maxContainerRestartPeriod must be 1s to 300s"
    for name, gate in (
        ("imageMaximumGCAge", "ImageMaximumGCAge"),
        ("serverTLSBootstrap", "RotateKubeletServerCertificate"),
        ("enableSystemLogQuery", "NodeLogQuery"),
    ):
        if found.get(name) not in (None, False, "0", "0s") and not _on(gate, gates):
            yield f"{name} needs the feature gate {gate}, which is off; remove it"
    if found.get("enableSystemLogQuery") and found.get("enableSystemLogHandler") is False:
        yield "enableSystemLogQuery needs enableSystemLogHandler; set it to true"
    policy = str(found.get("memoryReservationPolicy") or "None")
    if policy not in ("None", "TieredReservation"):
        yield (
            f'memoryReservationPolicy "{shown(policy)}" is unknown; allowed are None, '
            "TieredReservation"
        )
    elif policy != "None" and not _on("MemoryQoS", gates):
        yield (
            "memoryReservationPolicy TieredReservation needs the feature gate MemoryQoS, which is "
            "off; remove it"
        )
    yield from _verification(found, gates)


def _verification(found: Json, gates: Mapping[str, bool]) -> Iterator[str]:
    policy = str(found.get("imagePullCredentialsVerificationPolicy") or "")
    listed = cast("list[str]", found.get("preloadedImagesVerificationAllowlist") or [])
    if not _on("KubeletEnsureSecretPulledImages", gates):
        if policy or listed:
            yield (
                "imagePullCredentialsVerificationPolicy needs the feature gate "
                "KubeletEnsureSecretPulledImages, which is off; remove it"
            )
        return
    if policy and policy not in _VERIFY:
        yield (
            f'imagePullCredentialsVerificationPolicy "{shown(policy)}" must be one of '
            f"{', '.join(_VERIFY)}"
        )
    if listed and policy != "NeverVerifyAllowlistedImages":
        yield (
            "preloadedImagesVerificationAllowlist needs the policy NeverVerifyAllowlistedImages; "
            "set it"
        )
    for image in listed:
        name = image.removesuffix("/*")
        if not re.fullmatch(
            r"[a-z0-9]+([._-]+[a-z0-9]+)*(:\d+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*", name
        ):
            yield (
                f"preloadedImagesVerificationAllowlist: {shown(image)} must be an image without tag"
            )


def _texts(found: Json) -> Iterator[str]:
    if found.get("runOnce"):
        yield "runOnce is refused since 1.34; remove it"
    if found.get("systemCgroups") and not found.get("cgroupRoot"):
        yield "systemCgroups needs cgroupRoot; set it"
    logs = str(found.get("podLogsDir") or "/var/log/pods")
    if not logs.startswith("/") or posixpath.normpath(logs) != logs or not logs.isascii():
        yield f"podLogsDir {shown(logs)} must be an absolute path in ASCII without . and .."
    hidden = found.get("showHiddenMetricsForVersion")
    if hidden and hidden != MINOR_BEFORE:
        yield f'showHiddenMetricsForVersion "{shown(str(hidden))}" must be {MINOR_BEFORE} or empty'
    size = found.get("containerLogMaxSize") or "10Mi"
    if not kubelet_schema.amount(size):
        yield f'containerLogMaxSize "{shown(str(size))}" is no quantity; write such as 10Mi'
    for name in cast("list[str]", found.get("allowedUnsafeSysctls") or []):
        if not _SYSCTL.fullmatch(name) or not _NAMESPACED.match(name.replace("/", ".")):
            yield f"allowedUnsafeSysctls: {shown(name)} is no sysctl of a namespace; remove it"
    endpoint = str(_inner(found, "tracing").get("endpoint") or "")
    if endpoint and not re.fullmatch(
        r"((dns|unix|unix-abstract):[\w/.:\[\]-]+|[\w.\[\]-]+(:\d+)?)", endpoint
    ):
        yield f"tracing.endpoint {shown(endpoint)} is no address; write host:port"


def _logging(found: Json, gates: Mapping[str, bool]) -> Iterator[str]:
    logging = _inner(found, "logging")
    form = logging.get("format") or "text"
    if form not in ("text", "json"):
        yield f'logging.format "{shown(form)}" is unknown; allowed are text, json'
    elif form == "json" and not _on("LoggingBetaOptions", gates):
        yield (
            "logging.format json needs the feature gate LoggingBetaOptions, which is off; remove it"
        )
    patterns = cast("list[dict[str, Any]]", logging.get("vmodule") or [])
    if patterns and form != "text":
        yield "logging.vmodule needs logging.format text; remove one"
    for item in patterns:
        if not item.get("filePattern") or set(item["filePattern"]) & set("=,"):
            yield "logging.vmodule needs a filePattern without = and ,; correct it"
    for level in (logging.get("verbosity", 0), *(item.get("verbosity", 0) for item in patterns)):
        if level > 2**31 - 1:
            yield f"logging.verbosity {level} is refused; allowed are 0 to 10"
    for name in ("text", "json"):
        options = _inner(logging, "options", name)
        buffered = str(options.get("infoBufferSize", "0"))
        if (options.get("splitStream") or re.search(r"[1-9]", buffered)) and not _on(
            "LoggingAlphaOptions", gates
        ):
            yield (
                f"logging.options.{name} needs the feature gate LoggingAlphaOptions, which is "
                "off; remove it"
            )
