"""The kubelet configuration that kubeadm makes of the patches on the node."""

import json
import posixpath
import re

from ignition.boot import texts
from ignition.boot.config import BootConfig
from ignition.boot.fields import TYPES

# kubeadm's own expression: cmd/kubeadm/app/util/patches/patches.go
_PATCH = re.compile(r"(kubeletconfiguration)([^.+\n]*)?(\+)?(json|merge|strategic)?")
_TARGETS = "kube-apiserver|kube-controller-manager|kube-scheduler|etcd|corednsdeployment"

_OBJECTS = ("reservedMemory", "registerWithTaints", "shutdownGracePeriodByPodPriority")
Json = dict[str, object]


def patched(config: BootConfig, patches: str | None, problems: list[str]) -> Json:
    """The patches of folder `patches` put together; None means that kubeadm is given no folder."""
    found: Json = {}
    for path in sorted(config.files):
        if path.rpartition("/")[0] != (patches or "/etc/kubernetes/patches").rstrip("/"):
            continue
        name = posixpath.basename(path)
        if re.match(_TARGETS, name):
            continue
        if patches is None:
            problems.append(f"{path} is not read: join.yaml has no patches.directory; set it")
            continue
        match = _PATCH.match(name)
        if match is None or not name.endswith((".json", ".yaml")):
            problems.append(
                f"{path} is ignored by kubeadm; name it kubeletconfiguration[suffix]+merge.json"
            )
        elif match[4] == "json" or (match[3] and not match[4]):
            problems.append(f"{path} must be a merge or strategic patch; name it …+merge.json")
        else:
            found = _merge(found, _object(path, config.text(path), problems))
    return _shaped(found, problems)


def _object(path: str, text: str | None, problems: list[str]) -> Json:
    try:
        value = texts.documents(text or "")[0] if path.endswith(".yaml") else json.loads(text or "")
    except (ValueError, IndexError) as error:
        problems.append(f"{path} cannot be read ({error}); write a mapping of fields")
        return {}
    if not isinstance(value, dict):
        problems.append(f"{path} must hold fields of KubeletConfiguration")
        return {}
    return value


def _merge(target: Json, patch: Json) -> Json:
    """RFC 7386, which a strategic patch of KubeletConfiguration equals."""
    merged = {key: value for key, value in target.items() if patch.get(key, "") is not None}
    for key, value in patch.items():
        old = merged.get(key)
        if isinstance(value, dict):
            merged[key] = _merge(old if isinstance(old, dict) else {}, value)
        elif value is not None:
            merged[key] = value
    return merged


def _shaped(found: Json, problems: list[str]) -> Json:
    """The configuration without the fields that kubelet could not decode."""
    kept: Json = {}
    for name, value in found.items():
        kind = TYPES.get(name)
        whole = kind is None or isinstance(value, (int, float) if kind is float else kind)
        if isinstance(value, bool):
            whole = kind in (bool, None)
        if isinstance(value, list) and name in _OBJECTS:
            whole = whole and all(isinstance(item, dict) for item in value)
        if whole:
            kept[name] = value
        else:
            problems.append(
                f"kubelet: {name} {json.dumps(value)[:40]} has the wrong type; correct it"
            )
    return kept
