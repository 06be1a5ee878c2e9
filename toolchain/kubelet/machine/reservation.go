package machine

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/eviction"
	evictionapi "k8s.io/kubernetes/pkg/kubelet/eviction/api"
	"k8s.io/utils/cpuset"
)

// ReservedCPUs are the CPUs that the configuration names; an error where the machine lacks one.
func (m Machine) ReservedCPUs(config *kubeletconfig.KubeletConfiguration) (cpuset.CPUSet, error) {
	reserved, err := cpuset.Parse(config.ReservedSystemCPUs)
	if err != nil {
		return cpuset.CPUSet{}, err
	}
	if online := m.online(); !reserved.IsSubsetOf(online) {
		return cpuset.CPUSet{}, fmt.Errorf("reserved-cpus: %s is not a subset of online-cpus: %s", reserved, online)
	}
	return reserved, nil
}

// Reservation is GetNodeAllocatableReservation: both reservations and the hard eviction thresholds.
func (m Machine) Reservation(config *kubeletconfig.KubeletConfiguration, cpus cpuset.CPUSet) (v1.ResourceList, error) {
	kubeReserved, err := Resources(config.KubeReserved)
	if err != nil {
		return nil, err
	}
	systemReserved, err := Resources(config.SystemReserved)
	if err != nil {
		return nil, err
	}
	if cpus.Size() > 0 {
		delete(kubeReserved, v1.ResourceCPU)
		systemReserved[v1.ResourceCPU] = *resource.NewQuantity(int64(cpus.Size()), resource.DecimalSI)
	}
	capacity := resource.NewQuantity(0, resource.BinarySI)
	for _, numa := range m.NUMANodes {
		capacity.Add(*resource.NewQuantity(int64(numa.Memory<<20), resource.BinarySI))
	}
	thresholds, err := eviction.ParseThresholdConfig(nil, config.EvictionHard, nil, nil, nil)
	if err != nil {
		return nil, err
	}
	kept := v1.ResourceList{}
	for _, list := range []v1.ResourceList{kubeReserved, systemReserved} {
		for name, quantity := range list {
			sum := kept[name]
			sum.Add(quantity)
			kept[name] = sum
		}
	}
	for _, threshold := range thresholds {
		if threshold.Signal == evictionapi.SignalMemoryAvailable {
			sum := kept[v1.ResourceMemory]
			sum.Add(*evictionapi.GetThresholdQuantity(threshold.Value, capacity))
			kept[v1.ResourceMemory] = sum
		}
	}
	if memory := kept[v1.ResourceMemory]; memory.Cmp(*capacity) > 0 {
		return nil, fmt.Errorf("invalid Node Allocatable configuration: %s of memory are reserved, %s are there",
			memory.String(), capacity.String())
	}
	return kept, nil
}

// Resources is parseResourceList of cmd/kubelet/app.
func Resources(given map[string]string) (v1.ResourceList, error) {
	found := v1.ResourceList{}
	for name, text := range given {
		switch name {
		case "cpu", "memory", "ephemeral-storage", "pid":
		default:
			return nil, fmt.Errorf("cannot reserve %q resource", name)
		}
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			return nil, fmt.Errorf("failed to parse quantity %q for %q resource: %w", text, name, err)
		}
		if quantity.Sign() == -1 {
			return nil, fmt.Errorf("resource quantity for %q cannot be negative: %v", name, text)
		}
		found[v1.ResourceName(name)] = quantity
	}
	return found, nil
}
