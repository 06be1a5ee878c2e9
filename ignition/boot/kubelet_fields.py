"""The policies, options, eviction signals and defaults of kubelet 1.36 that a node is held to."""

MINOR_BEFORE = "1.35"
"""The one version whose hidden metrics kubelet 1.36 can show."""
CHOICES = {
    "cpuManagerPolicy": ("none", "static"),
    "memoryManagerPolicy": ("None", "Static"),
    "topologyManagerPolicy": ("none", "best-effort", "restricted", "single-numa-node"),
    "topologyManagerScope": ("container", "pod"),
    "cgroupDriver": ("systemd",),  # what kubeadm and the containerd of Flatcar agree on
    "apiVersion": ("kubelet.config.k8s.io/v1beta1",),
    "kind": ("KubeletConfiguration",),
}
# CPUManagerPolicyAlphaOptions is off by default, and with it two more options
OPTIONS = {
    "cpuManagerPolicyOptions": {
        "full-pcpus-only": "a boolean",
        "distribute-cpus-across-numa": "a boolean",
        "strict-cpu-reservation": "a boolean",
        "prefer-align-cpus-by-uncorecache": "a boolean",
    },
    "topologyManagerPolicyOptions": {
        "prefer-closest-numa-nodes": "a boolean",
        "max-allowable-numa-nodes": "a number",
    },
}
MOST_NUMA_NODES = 8
"""The Topology Manager refuses more without max-allowable-numa-nodes."""
RESERVABLE = ("cpu", "memory", "ephemeral-storage", "pid")
DEFAULT_EVICTION = {
    "memory.available": "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "imagefs.available": "15%",
    "imagefs.inodesFree": "5%",
}
SIGNALS = frozenset(
    {*DEFAULT_EVICTION, "pid.available", "containerfs.available", "containerfs.inodesFree"}
)
ALL_SIGNALS = SIGNALS | {"allocatableMemory.available"}
KINDS_OF_MEMORY = ("memory", "hugepages-2Mi", "hugepages-1Gi")
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
