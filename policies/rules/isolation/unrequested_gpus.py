"""A container must get its GPUs by asking for them, and by no variable or mount.

NVIDIA's container runtime may give a container the GPUs that its variable `NVIDIA_VISIBLE_DEVICES`
names, or mounts below /var/run/nvidia-container-devices: all of them by `all`, without a resource,
a queue or a quota, and in addition to what other pods on the node have. The nodes of this program
refuse both ways; this rule refuses them where nodes do not, and says so before a pod starts without
GPUs. `none`, `void` and an empty value give none. A value from elsewhere (`valueFrom`) is as good
as any. A container may also take a whole ConfigMap as variables (`envFrom`), so that a ConfigMap
must have no key that is the variable, or what a `prefix` such as `NVIDIA_` leaves of it; Secrets
are not read. A container that asks for GPUs leaves the variable to the device plugin: the kubelet
puts the container's own value last, which wins. Pods in the system namespaces of the setting may.

A LimitRange gives containers that ask for nothing its defaults behind the rules' back: none may
name GPUs, not even as `max` or `min` of containers, which the API server takes for defaults.
"""

from collections.abc import Mapping

from policies.language import cel
from policies.language.cel_forms import EVERY_CONTAINER, Fault, of_containers, pods_or_object
from policies.language.manifest import at, describe, is_some, items, mapping
from policies.language.pods import KINDS, pods, subject
from policies.language.rule import Manifest, Rule, Settings
from policies.language.system_namespaces import cel_is_system, is_system, schema

ID = "isolation/unrequested-gpus"
_VENDOR, _VARIABLE = "nvidia.com/", "NVIDIA_VISIBLE_DEVICES"
_MOUNTS = "/var/run/nvidia-container-devices"
_NO_GPUS = ("", "none", "void")
_BY_VARIABLE = (
    f"must ask for its GPUs by a resource such as {_VENDOR}gpu, not take them by {_VARIABLE}."
)
_OVERRIDES = (
    f"must leave {_VARIABLE} to the device plugin, which sets it to the GPUs that it asked for."
)
# of what a prefix leaves of the variable, this is meant for nothing else, what is shorter may be
_SHORTEST = "VISIBLE_DEVICES"
_LONGEST = len(_VARIABLE.removesuffix(_SHORTEST))
_KEYS = [_VARIABLE[cut:] for cut in range(_LONGEST + 1)]
_BY_MAP = f"must not give the GPUs of a node to whoever takes its keys as variables: {_VARIABLE}."
_BY_MOUNT = (
    f"must ask for its GPUs by a resource such as {_VENDOR}gpu, not take them by mounts below "
    f"{_MOUNTS}."
)


# Kubernetes v1.36.3, pkg/apis/core/v1/defaults.go, SetDefaults_LimitRangeItem
_BECOME_DEFAULTS = ("default", "defaultRequest", "max", "min")
_BY_DEFAULT = f"must not give containers {_VENDOR} devices that they do not ask for."


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Return the containers that take GPUs without asking, or what gives them some."""
    if manifest.get("kind") == "LimitRange":
        gives = not is_system(manifest, settings) and _gives_by_default(manifest)
        return [f"{describe(manifest)} {_BY_DEFAULT}"] if gives else []
    found = pods(manifest)
    is_map = manifest.get("kind") == "ConfigMap" and manifest.get("apiVersion") == "v1"
    if not (found or is_map) or is_system(manifest, settings):
        return []
    if is_map:
        data = mapping(manifest.get("data"))
        gives = any(key in data and _names_gpus(data[key]) for key in _KEYS)
        return [f"{describe(manifest)} {_BY_MAP}"] if gives else []
    return [
        f"{subject(manifest, pod)}: container '{container.get('name') or ''}' {fault}"
        for pod in found
        for container in (*pod.containers, *pod.ephemeral)
        if (fault := _fault(container))
    ]


def _gives_by_default(limit_range: Manifest) -> bool:
    return any(
        name.startswith(_VENDOR) and is_some(amount)
        for limit in items(at(limit_range, "spec", "limits"))
        if at(limit, "type") == "Container"
        for part in _BECOME_DEFAULTS
        for name, amount in mapping(at(limit, part)).items()
    )


def _fault(container: Mapping[str, object]) -> str | None:
    prefixes = (str(at(each, "prefix") or "") for each in items(container.get("envFrom")))
    by_prefix = any(_VARIABLE.startswith(each) and len(each) > _LONGEST for each in prefixes)
    if by_prefix or any(map(_gives_gpus, items(container.get("env")))):
        return _OVERRIDES if _asks(container) else _BY_VARIABLE
    paths = (str(at(each, "mountPath") or "") for each in items(container.get("volumeMounts")))
    return _BY_MOUNT if any(f"{path}/".startswith(f"{_MOUNTS}/") for path in paths) else None


def _gives_gpus(variable: object) -> bool:
    if at(variable, "name") != _VARIABLE:
        return False
    return at(variable, "valueFrom") is not None or _names_gpus(at(variable, "value"))


def _names_gpus(value: object) -> bool:
    return ("" if value is None else str(value)) not in _NO_GPUS


def _asks(container: Mapping[str, object]) -> bool:
    return any(
        name.startswith(_VENDOR) and is_some(amount)
        for part in ("limits", "requests")
        for name, amount in mapping(at(container, "resources", part)).items()
    )


_VALUE = "dyn(v.?value.orValue(''))"
_GIVES = (
    "(c.?envFrom.orValue([]).exists(v, [v.?prefix.orValue('')].exists(t, "
    f"'{_VARIABLE}'.startsWith(t) && size(t) > {_LONGEST})) || "
    f"c.?env.orValue([]).exists(v, v.?name.orValue('') == '{_VARIABLE}' && "
    f"(v.?valueFrom.hasValue() || {_VALUE} != null && "
    f"!('%s'.format([{_VALUE}]) in {list(_NO_GPUS)}))))"
)
_DATA = "object.?data.orValue({})"
_MAP_GIVES = (
    f"object.kind == 'ConfigMap' && !{cel_is_system(ID)} && {_KEYS}.exists(k, "
    f"k in {_DATA} && !({_DATA}[k] in {list(_NO_GPUS)}))"
)
_ASKS = (
    f"{cel.RESOURCES}.exists(r, r.exists(k, k.startsWith('{_VENDOR}') && {cel.is_some('r[k]')}))"
)
_MOUNTED = (
    "c.?volumeMounts.orValue([]).exists(m, "
    f"(m.?mountPath.orValue('') + '/').startsWith('{_MOUNTS}/'))"
)

_IS_RANGE = "object.kind == 'LimitRange'"
_GIVES_BY_DEFAULT = (
    f"{_IS_RANGE} && !{cel_is_system(ID)} && dyn(object).spec.?limits.orValue([]).exists(l, "
    f"l.type == 'Container' && {list(_BECOME_DEFAULTS)}.exists(part, l[?part].orValue({{}})"
    f".exists(k, v, k.startsWith('{_VENDOR}') && '%s'.format([v]) != '0')))"
)

RULE = Rule(
    id=ID,
    sentence="A container must get its GPUs by asking for them.",
    why=(
        "GPUs that a container takes by a variable are those that other pods asked for: no queue, "
        "no quota and no label knows of it, and both run out of memory."
    ),
    source=(
        "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/"
        "docker-specialized.html"
    ),
    schema=schema("host-access", "Namespaces of the system parts that see all GPUs of their node."),
    predicate=violations,
    admission=pods_or_object(
        (("", "configmaps"), ("", "limitranges"), *KINDS),
        [
            Fault(broken=_MAP_GIVES, says=cel.literal(_BY_MAP)),
            Fault(broken=_GIVES_BY_DEFAULT, says=cel.literal(_BY_DEFAULT)),
        ],
        of_containers(
            f"(object.kind in ['ConfigMap', 'LimitRange'] || {cel_is_system(ID)} ? [] : "
            "variables.pods)",
            [
                Fault(broken=f"{_GIVES} && {_ASKS}", says=cel.literal(_OVERRIDES)),
                Fault(broken=_GIVES, says=cel.literal(_BY_VARIABLE)),
                Fault(broken=_MOUNTED, says=cel.literal(_BY_MOUNT)),
            ],
            containers=EVERY_CONTAINER,
        ),
    ),
)
