package main

import (
	"fmt"
	"sort"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"gpu-fleet/toolchain/kubelet/machine"
)

const gpuResource = "nvidia.com/gpu"

// node is a machine as cAdvisor would find it, and what its kubelet is told.
type node struct {
	machine.Machine
	ReservedCPUs  string            `json:"reserved_cpus"`
	CPUOptions    map[string]string `json:"cpu_options"`
	MemoryManager bool              `json:"memory_manager"`
	Policy        string            `json:"policy"`
	Scope         string            `json:"scope"`
	Options       map[string]string `json:"options"`
}

// container asks for the same as requests and limits; an empty or zero quantity is left out.
type container struct {
	Kind        string `json:"kind"` // "app", "init" or "sidecar"
	CPUs        string `json:"cpus"`
	Memory      int64  `json:"memory_mib"`
	GPUs        int64  `json:"gpus"`
	HugePages1G int64  `json:"hugepages_1gi"`
	HugePages2M int64  `json:"hugepages_2mi"`
}

// allocatable is what the node offers to the scheduler.
func (n node) allocatable(reservedCPUs int) map[v1.ResourceName]int64 {
	offered := map[v1.ResourceName]int64{v1.ResourceCPU: -1000 * int64(reservedCPUs)}
	for _, numa := range n.NUMANodes {
		for _, threads := range numa.Cores {
			offered[v1.ResourceCPU] += 1000 * int64(len(threads))
		}
		gib, mib := int64(numa.HugePages1G<<30), int64(numa.HugePages2M<<21)
		offered[v1.ResourceMemory] += int64((numa.Memory-numa.Reserved)<<20) - gib - mib
		offered["hugepages-1Gi"] += gib
		offered["hugepages-2Mi"] += mib
		offered[gpuResource] += int64(len(numa.GPUs))
	}
	return offered
}

// insufficient names what the pod asks for beyond what the node offers, as the scheduler counts it.
func insufficient(pod *v1.Pod, offered map[v1.ResourceName]int64) []string {
	names := []string{}
	for name, asked := range resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}) {
		wanted := asked.Value()
		if name == v1.ResourceCPU {
			wanted = asked.MilliValue()
		}
		if wanted > offered[name] {
			names = append(names, string(name))
		}
	}
	sort.Strings(names)
	return names
}

func podOf(containers []container) (*v1.Pod, error) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", Namespace: "default", UID: "pod"}}
	always := v1.ContainerRestartPolicyAlways
	for i, asked := range containers {
		resources, err := asked.resources()
		if err != nil {
			return nil, err
		}
		made := v1.Container{
			Name:      fmt.Sprint("c", i),
			Resources: v1.ResourceRequirements{Requests: resources, Limits: resources.DeepCopy()},
		}
		switch asked.Kind {
		case "app":
			pod.Spec.Containers = append(pod.Spec.Containers, made)
		case "sidecar":
			made.RestartPolicy = &always
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, made)
		case "init":
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, made)
		default:
			return nil, fmt.Errorf("unknown kind of container: %q", asked.Kind)
		}
	}
	return pod, nil
}

func (c container) resources() (v1.ResourceList, error) {
	list := v1.ResourceList{}
	if c.CPUs != "" {
		cpus, err := resource.ParseQuantity(c.CPUs)
		if err != nil {
			return nil, err
		}
		list[v1.ResourceCPU] = cpus
	}
	for name, amount := range map[v1.ResourceName]int64{
		v1.ResourceMemory: c.Memory << 20,
		"hugepages-1Gi":   c.HugePages1G << 30,
		"hugepages-2Mi":   c.HugePages2M << 21,
		gpuResource:       c.GPUs,
	} {
		if amount > 0 {
			list[name] = *resource.NewQuantity(amount, resource.BinarySI)
		}
	}
	return list, nil
}
