"""Judges what the node registers with: labels, arguments of kubelet, the id of its instance."""

import re
from collections.abc import Iterator, Mapping

from hardware.catalogue import Hardware
from ignition.boot import parsing
from ignition.boot.config import BootConfig
from ignition.boot.parsing import names
from ignition.boot.unit_syntax import parse, values

_PURPOSES = ("training", "inference", "batch", "realtime")
# arguments that have no field of KubeletConfiguration, and --cloud-provider
_FLAGS = names("""
    node-labels node-ip cloud-provider hostname-override provider-id v config kubeconfig
    bootstrap-kubeconfig cert-dir root-dir image-credential-provider-config
    image-credential-provider-bin-dir register-with-taints max-pods
    container-runtime-endpoint feature-gates
""")
_OURS = tuple(f"fleet.gpu/{name}" for name in ("site", "pool", "hardware", "purpose", "numa-plan"))
# k8s.io/kubelet/pkg/apis: what a kubelet may set on its own node in the kubernetes.io namespace
_ALLOWED = {
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
}


def check(config: BootConfig, hardware: Hardware, problems: list[str]) -> Mapping[str, str]:
    """The labels that kubelet registers its node with; what is wrong is added to `problems`."""
    labels = arguments(config, hardware, problems)
    problems += _label_problems(labels, hardware)
    if hardware.kind == "aws":
        problems += _provider_id(config)
    return labels


def arguments(config: BootConfig, hardware: Hardware, problems: list[str]) -> Mapping[str, str]:
    """The labels among the arguments of kubelet; what it would not take is added to `problems`."""
    path = "/etc/sysconfig/kubelet"
    text = config.text(path) or ""
    given = ""
    for line in text.splitlines():
        name, _, value = line.partition("=")
        if name == "KUBELET_EXTRA_ARGS":
            given = value.strip("\"'")
        elif line.strip() and not line.startswith("#"):
            problems.append(
                f"{path}: {parsing.shown(name)} is not read; write KUBELET_EXTRA_ARGS alone"
            )
    labels: dict[str, str] = {}
    flags: dict[str, str] = {}
    for word in given.split():
        flag, _, value = word.partition("=")
        if flag in flags:
            problems.append(f"{path}: {flag} is given twice, and the last counts; give it once")
        flags[flag] = value
        if flag == "--node-labels":
            pairs = [pair.partition("=")[::2] for pair in value.split(",")]
            problems += [
                f"{path}: the label {key} is given twice; give it once"
                for key in {key for key, _ in pairs}
                if sum(key == other for other, _ in pairs) > 1
            ]
            labels |= dict(pairs)
    problems += _flags(path, flags, hardware)
    return labels


def _flags(path: str, flags: Mapping[str, str], hardware: Hardware) -> Iterator[str]:
    for flag in flags:
        if flag.removeprefix("--") not in _FLAGS:
            hint = parsing.hint(flag, [f"--{name}" for name in _FLAGS])
            yield f"{path}: kubelet 1.36 does not start with {parsing.shown(flag)}; {hint}"
    if hardware.kind == "hetzner" and flags.get("--cloud-provider") != "external":
        yield (
            f"{path}: without --cloud-provider=external Hetzner's controller never finishes the "
            "node; add it"
        )


def _provider_id(config: BootConfig) -> Iterator[str]:
    """Karpenter finds the node of its claim by an id that only the instance knows."""
    unit = config.units.get("kubelet.service")
    lines = tuple(line for text in unit.dropins.values() for line in parse(text)) if unit else ()
    commands = values(lines, "ExecStart")
    right = "--provider-id=aws:///${COREOS_EC2_AVAILABILITY_ZONE}/${COREOS_EC2_INSTANCE_ID}"
    if not any(right in command for command in commands):
        yield f"kubelet.service does not say which instance it is on; add {right} to its ExecStart"
        return
    for flag in ("KUBECONFIG_ARGS", "CONFIG_ARGS", "KUBEADM_ARGS", "EXTRA_ARGS"):
        if not any(f"$KUBELET_{flag}" in command for command in commands):
            yield f"kubelet.service leaves out $KUBELET_{flag} of kubeadm; keep it in ExecStart"
    if "/run/metadata/flatcar" not in " ".join(values(lines, "EnvironmentFile")):
        yield "kubelet.service does not read /run/metadata/flatcar; add it as EnvironmentFile="
    for name in ("Requires", "After"):
        if "coreos-metadata.service" not in " ".join(values(lines, name)).split():
            yield (
                "kubelet.service does not wait for coreos-metadata.service, which asks for the "
                f"instance; add it to {name}="
            )


def _label_problems(labels: Mapping[str, str], hardware: Hardware) -> Iterator[str]:
    for key, value in labels.items():
        namespace = key.partition("/")[0] if "/" in key else ""
        ours = namespace.endswith(("kubelet.kubernetes.io", "node.kubernetes.io"))
        if namespace.endswith(("kubernetes.io", "k8s.io")) and key not in _ALLOWED and not ours:
            yield f"the label {key} is not for kubelet to set, and it does not start; remove it"
        if not parsing.QUALIFIED.fullmatch(key) or not parsing.VALUE.fullmatch(value):
            yield (
                f'the label {parsing.shown(key)}="{parsing.shown(value)}" is malformed, and '
                "kubelet does not start; correct it"
            )
    purpose = labels.get("fleet.gpu/purpose", "training")
    if purpose not in _PURPOSES:
        yield f"the label fleet.gpu/purpose={purpose} must be one of {', '.join(_PURPOSES)}"
    if not re.fullmatch(r"[0-9a-f]{8}", labels.get("fleet.gpu/numa-plan", "0" * 8)):
        yield "the label fleet.gpu/numa-plan must have 8 hexadecimal digits"
    for key in _OURS:
        if key not in labels:
            yield f"the label {key} is missing from /etc/sysconfig/kubelet; rules select by it"
    given = labels.get("fleet.gpu/hardware")
    if given is not None and given != hardware.name:
        yield f"the label fleet.gpu/hardware={given} stands on a {hardware.name}; correct it"
