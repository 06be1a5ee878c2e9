package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/scheme"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/validation"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/eviction"
	"k8s.io/kubernetes/pkg/kubelet/kubeletconfig/util/codec"
	"k8s.io/kubernetes/pkg/kubelet/sysctl"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"gpu-fleet/toolchain/kubelet/machine"
)

// configuration is what kubelet would read: a base with kubeadm's merge patches, in their order.
type configuration struct {
	Base    string   `json:"base"`
	Patches []string `json:"patches"`
	Node    *node    `json:"node"` // the machine; without one the resource managers are not asked
}

// verdict has the first error of kubelet's start, and what its lenient decoder passes over.
type verdict struct {
	Error   string `json:"error,omitempty"`
	Ignored string `json:"ignored,omitempty"`
}

// judge goes the way of cmd/kubelet/app/server.go from the file to NewContainerManager, in its
// order; what needs the machine's runtime, cgroups or certificates is left out.
func judge(asked configuration) (given verdict) {
	defer func() {
		// SetDefaults_KubeletConfiguration panics at feature gates that it cannot set
		if cause := recover(); cause != nil {
			given = verdict{Error: fmt.Sprint(cause)}
		}
	}()
	data, err := patched(asked)
	if err != nil {
		return verdict{Error: err.Error()}
	}
	config, ignored, err := decoded(data)
	if err == nil {
		err = started(config, asked.Node)
	}
	if err != nil {
		return verdict{Error: err.Error(), Ignored: ignored}
	}
	return verdict{Ignored: ignored}
}

func patched(asked configuration) ([]byte, error) {
	data := []byte(asked.Base)
	for _, patch := range asked.Patches {
		merged, err := jsonpatch.MergePatch(data, []byte(patch))
		if err != nil {
			return nil, fmt.Errorf("kubeadm cannot apply a patch: %w", err)
		}
		data = merged
	}
	return data, nil
}

func decoded(data []byte) (*kubeletconfig.KubeletConfiguration, string, error) {
	_, strict, err := scheme.NewSchemeAndCodecs(serializer.EnableStrict)
	if err != nil {
		return nil, "", err
	}
	ignored := ""
	if _, _, err := strict.UniversalDecoder().Decode(data, nil, nil); runtime.IsStrictDecodingError(err) {
		ignored = err.Error()
	}
	config, err := codec.DecodeKubeletConfiguration(context.Background(), strict, data)
	return config, ignored, err
}

// started is what kubelet checks of its configuration between reading it and running pods.
func started(config *kubeletconfig.KubeletConfiguration, asked *node) error {
	gates := utilfeature.DefaultMutableFeatureGate.DeepCopy()
	if err := gates.SetFromMap(config.FeatureGates); err != nil {
		return err
	}
	if errs := logsapi.Validate(&config.Logging, gates, field.NewPath("logging")); len(errs) > 0 {
		return errs.ToAggregate()
	}
	if err := validation.ValidateKubeletConfiguration(config, gates); err != nil {
		return err
	}
	if err := parsed(config); err != nil {
		return err
	}
	if asked == nil {
		return nil
	}
	return managed(config, asked.Machine)
}

// parsed is what InitializeTLS, BuildAuthz, NewMainKubelet and its managers parse once more.
func parsed(config *kubeletconfig.KubeletConfiguration) error {
	if _, err := cliflag.TLSCipherSuites(config.TLSCipherSuites); err != nil {
		return err
	}
	if _, err := cliflag.TLSVersion(config.TLSMinVersion); err != nil {
		return err
	}
	if _, err := cliflag.TLSCurvePreferences(config.TLSCurvePreferences); err != nil {
		return err
	}
	switch config.Authorization.Mode {
	case kubeletconfig.KubeletAuthorizationModeAlwaysAllow, kubeletconfig.KubeletAuthorizationModeWebhook:
	default:
		return fmt.Errorf("unknown authorization mode %s", config.Authorization.Mode)
	}
	switch config.ConfigMapAndSecretChangeDetectionStrategy {
	case kubeletconfig.WatchChangeDetectionStrategy, kubeletconfig.TTLCacheChangeDetectionStrategy,
		kubeletconfig.GetChangeDetectionStrategy:
	default:
		return fmt.Errorf("unknown configmap and secret manager mode: %v",
			config.ConfigMapAndSecretChangeDetectionStrategy)
	}
	size, err := resource.ParseQuantity(config.ContainerLogMaxSize)
	if err != nil {
		return fmt.Errorf("failed to parse container log max size %q: %w", config.ContainerLogMaxSize, err)
	}
	if size.Value() < 0 {
		return errors.New("invalid max log size")
	}
	if config.ContainerLogMonitorInterval.Duration < 0 {
		return errors.New("invalid container log monitor interval")
	}
	if _, err := cm.ParseQOSReserved(config.QOSReserved); err != nil {
		return err
	}
	if _, err := sysctl.NewAllowlist(config.AllowedUnsafeSysctls); err != nil {
		return err
	}
	_, err = eviction.ParseThresholdConfig(config.EnforceNodeAllocatable, config.EvictionHard,
		config.EvictionSoft, config.EvictionSoftGracePeriod, config.EvictionMinimumReclaim)
	if err != nil {
		return err
	}
	for _, reserved := range []map[string]string{config.KubeReserved, config.SystemReserved} {
		if _, err := machine.Resources(reserved); err != nil {
			return err
		}
	}
	return nil
}

// managed makes the managers of NewContainerManager for a machine.
func managed(config *kubeletconfig.KubeletConfiguration, found machine.Machine) error {
	info := found.Info()
	reserved, err := found.ReservedCPUs(config)
	if err != nil {
		return err
	}
	kept, err := found.Reservation(config, reserved)
	if err != nil {
		return err
	}
	topologyManager, err := topologymanager.NewManager(info.Topology, config.TopologyManagerPolicy,
		config.TopologyManagerScope, config.TopologyManagerPolicyOptions)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "kubelet")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	_, err = cpumanager.NewManager(silent, config.CPUManagerPolicy, config.CPUManagerPolicyOptions,
		config.CPUManagerReconcilePeriod.Duration, info, reserved, kept, folder, topologyManager)
	if err != nil {
		return fmt.Errorf("failed to initialize cpu manager: %w", err)
	}
	_, err = memorymanager.NewManager(silent, config.MemoryManagerPolicy, info, kept,
		config.ReservedMemory, folder, topologyManager)
	return err
}
