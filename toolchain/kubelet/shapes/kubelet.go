package main

import (
	"fmt"
	"strconv"

	"github.com/go-logr/logr"
	cadvisor "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	cpustate "k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/topology"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
	memorystate "k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/utils/cpuset"
)

// silent is what kubelet's code logs to.
var silent = logr.Discard()

// ask admits the pod to an empty node; an error is a kubelet that does not start.
func ask(asked question) (answer, error) {
	pod, err := podOf(asked.Pod)
	if err != nil {
		return answer{}, err
	}
	info := asked.Node.Info()
	topologyManager, err := topologymanager.NewManager(
		info.Topology, asked.Node.Policy, asked.Node.Scope, asked.Node.Options)
	if err != nil {
		return answer{}, err
	}
	reserved, err := cpuset.Parse(asked.Node.ReservedCPUs)
	if err != nil {
		return answer{}, err
	}
	devices := newDevices(asked.Node, topologyManager)
	cpus, err := newCPUs(info, reserved, asked.Node.CPUOptions, topologyManager)
	if err != nil {
		return answer{}, err
	}
	memory, err := newMemory(info, asked.Node, topologyManager)
	if err != nil {
		return answer{}, err
	}
	// the order of kubelet's container manager
	topologyManager.AddHintProvider(silent, devices)
	topologyManager.AddHintProvider(silent, cpus)
	topologyManager.AddHintProvider(silent, memory)
	result := topologyManager.Admit(&lifecycle.PodAdmitAttributes{Pod: pod})
	given := answer{
		Admitted:     result.Admit,
		Reason:       result.Reason,
		Message:      result.Message,
		Insufficient: insufficient(pod, asked.Node.allocatable(reserved.Size())),
	}
	for i := range asked.Pod {
		name := "c" + strconv.Itoa(i)
		got := placed{Hint: []int{}, Memory: []int{}, GPUs: devices.of(name)}
		if hint := topologyManager.GetAffinity(string(pod.UID), name).NUMANodeAffinity; hint != nil {
			got.Hint = hint.GetBits()
		}
		if set, pinned := cpus.state.GetCPUSet(string(pod.UID), name); pinned {
			got.CPUs = set.String()
		}
		if blocks := memory.state.GetMemoryBlocks(string(pod.UID), name); blocks != nil {
			got.Memory = blocks[0].NUMAAffinity
		}
		given.Placed = append(given.Placed, got)
	}
	return given, nil
}

// cpuProvider is kubelet's CPU manager without its checkpoint file and its loop.
type cpuProvider struct {
	policy cpumanager.Policy
	state  cpustate.State
}

func newCPUs(info *cadvisor.MachineInfo, reserved cpuset.CPUSet, options map[string]string,
	affinity topologymanager.Store) (*cpuProvider, error) {
	found, err := topology.Discover(silent, info)
	if err != nil {
		return nil, err
	}
	policy, err := cpumanager.NewStaticPolicy(silent, found, reserved.Size(), reserved, affinity, options)
	if err != nil {
		return nil, err
	}
	provider := &cpuProvider{policy: policy, state: cpustate.NewMemoryState(silent)}
	return provider, policy.Start(silent, provider.state)
}

func (p *cpuProvider) GetTopologyHints(pod *v1.Pod, container *v1.Container) map[string][]topologymanager.TopologyHint {
	return p.policy.GetTopologyHints(silent, p.state, pod, container)
}

func (p *cpuProvider) GetPodTopologyHints(pod *v1.Pod) map[string][]topologymanager.TopologyHint {
	return p.policy.GetPodTopologyHints(silent, p.state, pod)
}

func (p *cpuProvider) AllocatePod(pod *v1.Pod) error {
	return p.policy.AllocatePod(silent, p.state, pod)
}

func (p *cpuProvider) Allocate(pod *v1.Pod, container *v1.Container) error {
	return p.policy.Allocate(silent, p.state, pod, container)
}

// memoryProvider is kubelet's memory manager without its checkpoint file.
type memoryProvider struct {
	policy memorymanager.Policy
	state  memorystate.State
}

func newMemory(info *cadvisor.MachineInfo, asked node, affinity topologymanager.Store) (*memoryProvider, error) {
	provider := &memoryProvider{state: memorystate.NewMemoryState(silent)}
	if !asked.MemoryManager {
		provider.policy = memorymanager.NewPolicyNone(silent)
		return provider, provider.policy.Start(silent, provider.state)
	}
	reserved := map[int]map[v1.ResourceName]uint64{}
	for _, numa := range asked.NUMANodes {
		reserved[numa.ID] = map[v1.ResourceName]uint64{v1.ResourceMemory: numa.Reserved << 20}
		kept := numa.Reserved<<20 + numa.HugePages1G<<30 + numa.HugePages2M<<21
		if kept > numa.Memory<<20 {
			return nil, fmt.Errorf("NUMA node %d has less memory than is kept of it", numa.ID)
		}
	}
	policy, err := memorymanager.NewPolicyStatic(silent, info, reserved, affinity)
	if err != nil {
		return nil, err
	}
	provider.policy = policy
	return provider, policy.Start(silent, provider.state)
}

func (p *memoryProvider) GetTopologyHints(pod *v1.Pod, container *v1.Container) map[string][]topologymanager.TopologyHint {
	return p.policy.GetTopologyHints(silent, p.state, pod, container)
}

func (p *memoryProvider) GetPodTopologyHints(pod *v1.Pod) map[string][]topologymanager.TopologyHint {
	return p.policy.GetPodTopologyHints(silent, p.state, pod)
}

func (p *memoryProvider) AllocatePod(pod *v1.Pod) error {
	return p.policy.AllocatePod(silent, p.state, pod)
}

func (p *memoryProvider) Allocate(pod *v1.Pod, container *v1.Container) error {
	return p.policy.Allocate(silent, p.state, pod, container)
}
