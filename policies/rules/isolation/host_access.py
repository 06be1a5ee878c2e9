"""A pod must not be privileged or use host namespaces, paths or ports.

Pods in the system namespaces of the setting may. A container may add the capabilities of a
runtime's default set and those of the setting. In the namespaces of queues there is no exemption:
the API server holds them to Pod Security `baseline`, which knows none and the same capabilities.
What loosens a container counts, too, as Pod Security's `baseline` of 1.36 has it: no seccomp or
AppArmor (`Unconfined`), other options of SELinux, `procMount`, sysctls that are not of the pod's
own, a process of a Windows host, and another host for probes. A PersistentVolume must not be a path
of the host either, as `hostPath` or `local`, except below those of the setting, which provisioners
of local disks use: a claim would carry it into any pod.

Nodes leave memory that is pinned for RDMA unlimited, and memory may be bound to a NUMA node without
a seccomp profile, so neither IPC_LOCK nor SYS_NICE is missed.

With `rdma/rails` on InfiniBand, or EFA, pods speak RDMA from their own network. A gang needs the
host's network only where the fabric is RoCE: then in a namespace of its own outside the queues,
with a dated exemption. A stack file takes one for jobs if one of its pools has RoCE, or if it names
a namespace that is no queue's; in that of a queue it takes none.
"""

from collections.abc import Iterator, Mapping, Sequence

from policies.language import cel
from policies.language.cel_forms import EVERY_CONTAINER, Fault, of_pods, pods_or_object
from policies.language.manifest import at, describe, is_true, items
from policies.language.pod_security import LOOSENED, loosened
from policies.language.pods import KINDS as POD_KINDS
from policies.language.pods import Pod, pods, subject
from policies.language.rule import Admission, Manifest, Rule, Settings
from policies.language.system_namespaces import cel_is_system, is_system, schema
from settings.names import SCRATCH_PATH

ID = "isolation/host-access"
_SHARED = {"hostNetwork": "network", "hostPID": "processes", "hostIPC": "memory"}
_RUNTIME = (
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
)
_SHARES = "must not share the host's {}."
_PATH = "must not mount a path of the host."
_PRIVILEGED = "must not have a privileged container."
_PORT = "must not take a port of the host."
_ADDS = "must not add a capability beyond those that are allowed."
_OF_HOST = ("hostPath", "local")
_VOLUME = "must not be a path of the host, except below those that are allowed."


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Return what gives the pods of an object access to their node."""
    if manifest.get("kind") == "PersistentVolume" and manifest.get("apiVersion") == "v1":
        is_open = _is_path_of_host(manifest, items(settings["volumes"]))
        return [f"{describe(manifest)} {_VOLUME}"] if is_open else []
    found = pods(manifest)
    if not found or is_system(manifest, settings):
        return []
    allowed = {*_RUNTIME, *items(settings["capabilities"])}
    return [f"{subject(manifest, pod)} {fault}" for pod in found for fault in _faults(pod, allowed)]


def _is_path_of_host(volume: Manifest, below: Sequence[object]) -> bool:
    spec = volume.get("spec")
    paths = [str(at(spec, how, "path")) for how in _OF_HOST if at(spec, how) is not None]
    # the API server takes no `..` in them
    return any(not path.startswith(tuple(map(str, below))) for path in paths)


def _faults(pod: Pod, allowed: set[object]) -> Iterator[str]:
    for field, what in _SHARED.items():
        if is_true(pod.spec.get(field)):
            yield _SHARES.format(what)
    if any(at(volume, "hostPath") is not None for volume in items(pod.spec.get("volumes"))):
        yield _PATH
    containers = (*pod.containers, *pod.ephemeral)
    if any(is_true(_context(each).get("privileged")) for each in containers):
        yield _PRIVILEGED
    ports = (port for each in containers for port in items(each.get("ports")))
    if any(at(port, "hostPort") not in (None, 0) for port in ports):
        yield _PORT
    added = (name for c in containers for name in items(at(_context(c), "capabilities", "add")))
    if any(name not in allowed for name in added):
        yield _ADDS
    yield from loosened(pod)


def _context(container: Mapping[str, object]) -> Mapping[str, object]:
    context = container.get("securityContext")
    return context if isinstance(context, Mapping) else {}


def _any(broken: str) -> str:
    return f"{EVERY_CONTAINER}.exists(c, {broken})"


def _cel_faults() -> list[Fault]:
    shared = [
        Fault(broken=f"p.spec.?{field}.orValue(false)", says=cel.literal(_SHARES.format(what)))
        for field, what in _SHARED.items()
    ]
    allowed = f"({cel.literal(_RUNTIME)} + {cel.setting(ID, 'capabilities')})"
    return [
        *shared,
        Fault(
            broken="p.spec.?volumes.orValue([]).exists(v, v.?hostPath.hasValue())",
            says=cel.literal(_PATH),
        ),
        Fault(
            broken=_any("c.?securityContext.?privileged.orValue(false)"),
            says=cel.literal(_PRIVILEGED),
        ),
        Fault(
            broken=_any("c.?ports.orValue([]).exists(o, o.?hostPort.orValue(0) != 0)"),
            says=cel.literal(_PORT),
        ),
        Fault(
            broken=_any(
                f"c.?securityContext.?capabilities.?add.orValue([]).exists(a, !(a in {allowed}))"
            ),
            says=cel.literal(_ADDS),
        ),
        *LOOSENED,
    ]


def _admission() -> Admission:
    below = f"{cel.setting(ID, 'volumes')}.exists(b, s.path.startsWith(b))"
    sources = ", ".join(f"object.spec.?{how}" for how in _OF_HOST)
    of_volume = (
        "object.kind == 'PersistentVolume' && "
        f"[{sources}].exists(o, o.hasValue() && ![o.value()].exists(s, {below}))"
    )
    return pods_or_object(
        (("", "persistentvolumes"), *POD_KINDS),
        [Fault(broken=of_volume, says=cel.literal(_VOLUME))],
        of_pods(
            f"(object.kind == 'PersistentVolume' || {cel_is_system(ID)} ? [] : variables.pods)",
            _cel_faults(),
        ),
    )


RULE = Rule(
    id=ID,
    sentence="A pod must not be privileged or use host namespaces, paths or ports.",
    why=(
        "A pod with access to the host's files, processes or devices can read every other team's "
        "data on that node, use its GPUs and take the node's credentials."
    ),
    source="https://kubernetes.io/docs/concepts/security/pod-security-standards/",
    schema={
        **schema(
            "host-access",
            "Namespaces of the system parts that need access to their node.",
        ),
        "capabilities": {
            "type": "array",
            "items": {"type": "string", "pattern": "^[A-Z_]+$"},
            "default": [],
            "description": "Capabilities that a container may add beyond the runtime's defaults.",
        },
        "volumes": {
            "type": "array",
            "items": {"type": "string", "pattern": "^/.+/$"},
            # the second is of Kubernetes' documentation and its provisioner of local disks
            "default": [f"{SCRATCH_PATH}/", "/mnt/disks/"],
            "description": "Folders of the host in which a PersistentVolume may lie.",
        },
    },
    predicate=violations,
    admission=_admission(),
)
