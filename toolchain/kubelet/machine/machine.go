// Package machine is a machine as kubelet finds it, and what its configuration keeps from pods.
package machine

import (
	cadvisor "github.com/google/cadvisor/info/v1"
	"k8s.io/utils/cpuset"
)

const (
	page1Gi = 1 << 20 // in KiB, as cAdvisor counts pages
	page2Mi = 2 << 10
)

// Machine has the sockets and NUMA nodes that cAdvisor would find.
type Machine struct {
	Sockets   int        `json:"sockets"`
	NUMANodes []NUMANode `json:"numa_nodes"`
}

// NUMANode has its memory in MiB; each core is its CPUs and the socket that it is on.
type NUMANode struct {
	ID          int      `json:"id"`
	Cores       [][]int  `json:"cores"`
	CoreSockets []int    `json:"core_sockets"`
	Memory      uint64   `json:"memory_mib"`
	Reserved    uint64   `json:"reserved_memory_mib"`
	HugePages1G uint64   `json:"hugepages_1gi"`
	HugePages2M uint64   `json:"hugepages_2mi"`
	GPUs        []int    `json:"gpus"`
	Distances   []uint64 `json:"distances"`
}

// Info is the machine in cAdvisor's words, which kubelet's managers read.
func (m Machine) Info() *cadvisor.MachineInfo {
	info := &cadvisor.MachineInfo{NumSockets: m.Sockets}
	for _, numa := range m.NUMANodes {
		found := cadvisor.Node{
			Id:        numa.ID,
			Memory:    numa.Memory << 20,
			Distances: numa.Distances,
			HugePages: []cadvisor.HugePagesInfo{
				{PageSize: page1Gi, NumPages: numa.HugePages1G},
				{PageSize: page2Mi, NumPages: numa.HugePages2M},
			},
		}
		for i, threads := range numa.Cores {
			info.NumCores += len(threads)
			core := cadvisor.Core{Id: i, Threads: threads, SocketID: numa.CoreSockets[i]}
			found.Cores = append(found.Cores, core)
		}
		info.Topology = append(info.Topology, found)
	}
	return info
}

func (m Machine) online() cpuset.CPUSet {
	online := cpuset.New()
	for _, numa := range m.NUMANodes {
		for _, threads := range numa.Cores {
			online = online.Union(cpuset.New(threads...))
		}
	}
	return online
}
