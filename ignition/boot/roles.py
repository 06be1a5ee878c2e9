"""Which role boot data is for: a node, a server of the control plane, or a site's gateway."""

from typing import Literal

from ignition.boot.config import BootConfig

Role = Literal["node", "control-plane", "gateway"]


def role(config: BootConfig) -> Role:
    """The role, by what the machine would run: kubeadm init, or a tunnel and no Kubernetes."""
    said = "\n".join((*config.said.values(), *(file.text or "" for file in config.files.values())))
    if '"InitConfiguration"' in said or "kubeadm init" in said:
        return "control-plane"
    tunnels = any(path.endswith(".netdev") for path in config.files)
    if tunnels and "kubeadm" not in said and "/etc/extensions/kubernetes.raw" not in config.links:
        return "gateway"
    return "node"
