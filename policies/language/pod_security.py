"""What loosens a container from its node: checks of Pod Security `baseline` at version 1.36.

Read from k8s.io/pod-security-admission v0.36.3, policy/check_*.go. Privileged containers, host
namespaces, paths, ports and capabilities are in isolation/host-access itself. A pod's context holds
for its containers, so both are looked at.
"""

from collections.abc import Iterator, Mapping

from policies.language import cel
from policies.language.cel_forms import EVERY_CONTAINER, Fault
from policies.language.manifest import at, is_false, is_true, items, mapping
from policies.language.pods import Pod

_PROFILES = ("RuntimeDefault", "Localhost")
_SELINUX_TYPES = ("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")
_SYSCTLS = (
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_wmem",
)
_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HOOKS = ("postStart", "preStop")
_ACTIONS = ("httpGet", "tcpSocket")
_UNCONFINED = "must not switch {} off."
_SELINUX = "must not choose options of SELinux beyond those of containers."
_PROC = "must not unmask /proc."
_SYSCTL = "must not set a sysctl that is not of the pod's own."
_WINDOWS = "must not run a process of a Windows host."
_PROBE = "must not probe another host."


def loosened(pod: Pod) -> Iterator[str]:
    """Yield what a pod or its containers loosen."""
    containers = (*pod.containers, *pod.ephemeral)
    contexts = [mapping(pod.spec.get("securityContext"))]
    contexts += [mapping(each.get("securityContext")) for each in containers]
    for field, what in (("seccompProfile", "seccomp"), ("appArmorProfile", "AppArmor")):
        profiles = [at(each, field) for each in contexts if each.get(field) is not None]
        off = any(at(each, "type") not in _PROFILES for each in profiles)
        if off or (what == "AppArmor" and _is_annotated(pod)):
            yield _UNCONFINED.format(what)
    if any(_is_other_selinux(each.get("seLinuxOptions")) for each in contexts):
        yield _SELINUX
    mounts = (each.get("procMount") for each in contexts[1:])
    if not is_false(pod.spec.get("hostUsers")) and any(
        each not in (None, "Default") for each in mounts
    ):
        yield _PROC
    if any(at(each, "name") not in _SYSCTLS for each in items(contexts[0].get("sysctls"))):
        yield _SYSCTL
    if any(is_true(at(each, "windowsOptions", "hostProcess")) for each in contexts):
        yield _WINDOWS
    if any(map(_probes_others, containers)):
        yield _PROBE


def _is_annotated(pod: Pod) -> bool:
    return any(
        key.startswith(_APPARMOR)
        and value not in ("", "runtime/default")
        and not str(value).startswith("localhost/")
        for key, value in pod.annotations.items()
    )


def _is_other_selinux(options: object) -> bool:
    chosen = mapping(options)
    return bool(
        (chosen.get("type") or "") not in _SELINUX_TYPES or chosen.get("user") or chosen.get("role")
    )


def _probes_others(container: Mapping[str, object]) -> bool:
    handlers = [at(container, name) for name in _PROBES]
    handlers += [at(container, "lifecycle", name) for name in _HOOKS]
    return any(at(each, action, "host") for each in handlers for action in _ACTIONS)


def _any(broken: str) -> str:
    """CEL: whether a security context `s` of the pod or of a container is so."""
    own = "[p.spec.?securityContext].filter(o, o.hasValue()).map(o, o.value())"
    return f"({own}.exists(s, {broken}) || {_any_container(broken)})"


def _any_container(broken: str) -> str:
    of_container = "[c.?securityContext].filter(o, o.hasValue()).map(o, o.value())"
    return f"{EVERY_CONTAINER}.exists(c, {of_container}.exists(s, {broken}))"


def _off(field: str) -> str:
    return f"has(s.{field}) && !(s.{field}.?type.orValue('') in {list(_PROFILES)})"


def _cel_probes() -> str:
    handlers = [f"c.?{name}" for name in _PROBES] + [f"c.?lifecycle.?{name}" for name in _HOOKS]
    hosts = (
        f"{each}.?{action}.?host.orValue('') != ''" for each in handlers for action in _ACTIONS
    )
    return f"{EVERY_CONTAINER}.exists(c, {' || '.join(hosts)})"


def _faults() -> Iterator[Fault]:
    seccomp = _any(_off("seccompProfile"))
    yield Fault(broken=seccomp, says=cel.literal(_UNCONFINED.format("seccomp")))
    annotated = (
        f"p.annotations.exists(k, k.startsWith('{_APPARMOR}') && "
        "!(p.annotations[k] in ['', 'runtime/default']) && "
        "!p.annotations[k].startsWith('localhost/'))"
    )
    apparmor = f"{_any(_off('appArmorProfile'))} || {annotated}"
    yield Fault(broken=apparmor, says=cel.literal(_UNCONFINED.format("AppArmor")))
    selinux = (
        f"!(s.?seLinuxOptions.?type.orValue('') in {list(_SELINUX_TYPES)}) || "
        "s.?seLinuxOptions.?user.orValue('') != '' || s.?seLinuxOptions.?role.orValue('') != ''"
    )
    yield Fault(broken=_any(selinux), says=cel.literal(_SELINUX))
    mounted = _any_container("s.?procMount.orValue('Default') != 'Default'")
    yield Fault(broken=f"p.spec.?hostUsers.orValue(true) && {mounted}", says=cel.literal(_PROC))
    sysctls = (
        "p.spec.?securityContext.?sysctls.orValue([])"
        f".exists(y, !(y.?name.orValue('') in {list(_SYSCTLS)}))"
    )
    yield Fault(broken=sysctls, says=cel.literal(_SYSCTL))
    windows = _any("s.?windowsOptions.?hostProcess.orValue(false)")
    yield Fault(broken=windows, says=cel.literal(_WINDOWS))
    yield Fault(broken=_cel_probes(), says=cel.literal(_PROBE))


LOOSENED = tuple(_faults())
"""CEL: the same of a pod `p`."""
