"""The fields of KubeletConfiguration: k8s.io/kubelet/config/v1beta1 of Kubernetes 1.34.

kubelet reads its configuration strictly: a field that it does not know, or a value of another type,
keeps it from starting.
"""

from ignition.boot.parsing import names

# the JSON type of each field; a duration is a string
_BY_TYPE: dict[type, frozenset[str]] = {
    bool: names("""
        enableServer rotateCertificates serverTLSBootstrap enableDebuggingHandlers
        enableContentionProfiling cgroupsPerQOS singleProcessOOMKill runOnce cpuCFSQuota
        serializeImagePulls mergeDefaultEvictionSettings enableControllerAttachDetach
        protectKernelDefaults makeIPTablesUtilChains failSwapOn kernelMemcgNotification
        enableSystemLogHandler enableSystemLogQuery enableProfilingHandler enableDebugFlagsHandler
        seccompDefault registerNode localStorageCapacityIsolation failCgroupV1
    """),
    int: names("""
        port readOnlyPort healthzPort oomScoreAdj registryPullQPS registryBurst eventRecordQPS
        eventBurst nodeLeaseDurationSeconds imageGCHighThresholdPercent imageGCLowThresholdPercent
        maxPods podPidsLimit nodeStatusMaxImages maxOpenFiles kubeAPIQPS kubeAPIBurst
        maxParallelImagePulls evictionMaxPodGracePeriod podsPerCore iptablesMasqueradeBit
        iptablesDropBit containerLogMaxFiles containerLogMaxWorkers
    """),
    float: names("memoryThrottlingFactor"),
    str: names("""
        apiVersion kind staticPodPath podLogsDir syncFrequency fileCheckFrequency httpCheckFrequency
        staticPodURL address tlsCertFile tlsPrivateKeyFile tlsMinVersion
        imagePullCredentialsVerificationPolicy healthzBindAddress clusterDomain
        streamingConnectionIdleTimeout nodeStatusUpdateFrequency nodeStatusReportFrequency
        imageMinimumGCAge imageMaximumGCAge volumeStatsAggPeriod kubeletCgroups systemCgroups
        cgroupRoot cgroupDriver cpuManagerPolicy cpuManagerReconcilePeriod memoryManagerPolicy
        topologyManagerPolicy topologyManagerScope runtimeRequestTimeout hairpinMode podCIDR
        resolvConf cpuCFSQuotaPeriod contentType evictionPressureTransitionPeriod
        containerLogMaxSize containerLogMonitorInterval configMapAndSecretChangeDetectionStrategy
        reservedSystemCPUs showHiddenMetricsForVersion systemReservedCgroup kubeReservedCgroup
        volumePluginDir providerID shutdownGracePeriod shutdownGracePeriodCriticalPods
        containerRuntimeEndpoint imageServiceEndpoint
    """),
    list: names("""
        tlsCipherSuites clusterDNS enforceNodeAllocatable allowedUnsafeSysctls reservedMemory
        registerWithTaints shutdownGracePeriodByPodPriority preloadedImagesVerificationAllowlist
    """),
    dict: names("""
        staticPodURLHeader authentication authorization cpuManagerPolicyOptions
        topologyManagerPolicyOptions qosReserved evictionHard evictionSoft evictionSoftGracePeriod
        evictionMinimumReclaim featureGates memorySwap systemReserved kubeReserved logging
        crashLoopBackOff tracing userNamespaces
    """),
}
TYPES: dict[str, type] = {name: kind for kind, fields in _BY_TYPE.items() for name in fields}
FIELDS = frozenset(TYPES)
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
KINDS_OF_MEMORY = ("memory", "hugepages-2Mi", "hugepages-1Gi")
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
