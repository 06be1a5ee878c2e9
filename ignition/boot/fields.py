"""What KubeletConfiguration may say: k8s.io/kubelet/config/v1beta1 of Kubernetes 1.34.

kubelet reads its configuration strictly: a field that it does not know keeps it from starting.
"""

_NAMES = """
    enableServer staticPodPath podLogsDir syncFrequency fileCheckFrequency httpCheckFrequency
    staticPodURL staticPodURLHeader address port readOnlyPort tlsCertFile tlsPrivateKeyFile
    tlsCipherSuites tlsMinVersion rotateCertificates serverTLSBootstrap authentication
    authorization registryPullQPS registryBurst imagePullCredentialsVerificationPolicy
    preloadedImagesVerificationAllowlist eventRecordQPS eventBurst enableDebuggingHandlers
    enableContentionProfiling healthzPort healthzBindAddress oomScoreAdj clusterDomain
    clusterDNS streamingConnectionIdleTimeout nodeStatusUpdateFrequency
    nodeStatusReportFrequency nodeLeaseDurationSeconds imageMinimumGCAge imageMaximumGCAge
    imageGCHighThresholdPercent imageGCLowThresholdPercent volumeStatsAggPeriod
    kubeletCgroups systemCgroups cgroupRoot cgroupsPerQOS cgroupDriver cpuManagerPolicy
    singleProcessOOMKill cpuManagerPolicyOptions cpuManagerReconcilePeriod
    memoryManagerPolicy topologyManagerPolicy topologyManagerScope
    topologyManagerPolicyOptions qosReserved runtimeRequestTimeout hairpinMode maxPods
    podCIDR podPidsLimit resolvConf runOnce cpuCFSQuota cpuCFSQuotaPeriod nodeStatusMaxImages
    maxOpenFiles contentType kubeAPIQPS kubeAPIBurst serializeImagePulls
    maxParallelImagePulls evictionHard evictionSoft evictionSoftGracePeriod
    evictionPressureTransitionPeriod evictionMaxPodGracePeriod evictionMinimumReclaim
    mergeDefaultEvictionSettings podsPerCore enableControllerAttachDetach
    protectKernelDefaults makeIPTablesUtilChains iptablesMasqueradeBit iptablesDropBit
    featureGates failSwapOn memorySwap containerLogMaxSize containerLogMaxFiles
    containerLogMaxWorkers containerLogMonitorInterval
    configMapAndSecretChangeDetectionStrategy systemReserved kubeReserved reservedSystemCPUs
    showHiddenMetricsForVersion systemReservedCgroup kubeReservedCgroup
    enforceNodeAllocatable allowedUnsafeSysctls volumePluginDir providerID
    kernelMemcgNotification logging enableSystemLogHandler enableSystemLogQuery
    shutdownGracePeriod shutdownGracePeriodCriticalPods shutdownGracePeriodByPodPriority
    crashLoopBackOff reservedMemory enableProfilingHandler enableDebugFlagsHandler
    seccompDefault memoryThrottlingFactor registerWithTaints registerNode tracing
    localStorageCapacityIsolation containerRuntimeEndpoint imageServiceEndpoint failCgroupV
    userNamespaces
    apiVersion kind
"""
FIELDS = frozenset(_NAMES.split())
CHOICES = {
    "cpuManagerPolicy": ("none", "static"),
    "memoryManagerPolicy": ("None", "Static"),
    "topologyManagerPolicy": ("none", "best-effort", "restricted", "single-numa-node"),
    "topologyManagerScope": ("container", "pod"),
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
# what kubelet would not decode; the rest of the fields is read as it is
SHAPES: dict[str, type] = {
    "cpuManagerPolicyOptions": dict,
    "topologyManagerPolicyOptions": dict,
    "kubeReserved": dict,
    "systemReserved": dict,
    "evictionHard": dict,
    "reservedMemory": list,
    "registerWithTaints": list,
    "reservedSystemCPUs": str,
    "maxPods": int,
}
DEFAULT_EVICTION = {
    "memory.available": "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "imagefs.available": "15%",
    "imagefs.inodesFree": "5%",
}
