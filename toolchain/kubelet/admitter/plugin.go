package main

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	deviceplugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// inProcess is a device plugin as kubelet's device manager calls it, without a socket between them.
//
// NVIDIA's (k8s-device-plugin v0.20.0, internal/rm) states the NUMA node of each GPU, instance and
// replica, refuses more than one replica where it is told to, and prefers: of whole GPUs those with
// the best links, which behind an NVSwitch are those of one NUMA node; of replicas and instances
// the GPU with the fewest in use. The RDMA shared device plugin (v1.5.3, pkg/resources/server.go)
// states neither NUMA nodes nor preferences. AWS's documents alignment for EKS's own images alone.
type inProcess struct {
	plugin
	deviceplugin.DevicePluginClient // what the device manager does not call without a socket
}

func (p inProcess) API() deviceplugin.DevicePluginClient { return p }
func (p inProcess) Resource() string                     { return p.plugin.Resource }
func (p inProcess) SocketPath() string                   { return "" }

func (p inProcess) offered() *deviceplugin.ListAndWatchResponse {
	found := &deviceplugin.ListAndWatchResponse{}
	for _, each := range p.Devices {
		made := &deviceplugin.Device{ID: each.ID, Health: deviceplugin.Healthy}
		if each.NUMANode != nil {
			nodes := []*deviceplugin.NUMANode{{ID: *each.NUMANode}}
			made.Topology = &deviceplugin.TopologyInfo{Nodes: nodes}
		}
		found.Devices = append(found.Devices, made)
	}
	return found
}

func (p inProcess) GetDevicePluginOptions(context.Context, *deviceplugin.Empty, ...grpc.CallOption) (
	*deviceplugin.DevicePluginOptions, error) {
	nvidias := strings.HasPrefix(p.plugin.Resource, "nvidia.com/")
	return &deviceplugin.DevicePluginOptions{GetPreferredAllocationAvailable: nvidias}, nil
}

func (p inProcess) Allocate(_ context.Context, asked *deviceplugin.AllocateRequest, _ ...grpc.CallOption) (
	*deviceplugin.AllocateResponse, error) {
	given := &deviceplugin.AllocateResponse{}
	for _, each := range asked.ContainerRequests {
		if p.AtMostOne && len(each.DevicesIds) > 1 {
			return nil, status.Errorf(codes.Unknown, "invalid allocation request for %q: invalid request: "+
				"maximum request size for shared resources is 1; found %d", p.plugin.Resource, len(each.DevicesIds))
		}
		given.ContainerResponses = append(given.ContainerResponses, &deviceplugin.ContainerAllocateResponse{})
	}
	return given, nil
}

func (p inProcess) GetPreferredAllocation(_ context.Context, asked *deviceplugin.PreferredAllocationRequest,
	_ ...grpc.CallOption) (*deviceplugin.PreferredAllocationResponse, error) {
	given := &deviceplugin.PreferredAllocationResponse{}
	for _, each := range asked.ContainerRequests {
		free := slices.DeleteFunc(slices.Clone(each.AvailableDeviceIDs), func(id string) bool {
			return slices.Contains(each.MustIncludeDeviceIDs, id)
		})
		slices.Sort(free)
		needed := min(int(each.AllocationSize)-len(each.MustIncludeDeviceIDs), len(free))
		if p.plugin.Resource == "nvidia.com/gpu" && !slices.ContainsFunc(free, isReplica) {
			free = p.together(free, needed)
		} else {
			free = p.spread(free, needed)
		}
		preferred := append(slices.Clone(each.MustIncludeDeviceIDs), free[:needed]...)
		given.ContainerResponses = append(given.ContainerResponses,
			&deviceplugin.ContainerPreferredAllocationResponse{DeviceIDs: preferred})
	}
	return given, nil
}

func isReplica(id string) bool { return strings.Contains(id, "::") }

func gpuOf(id string) string {
	gpu, _, _ := strings.Cut(id, "::")
	return gpu
}

// together orders GPUs by NUMA node: first the one that has just enough, else the one with most.
func (p inProcess) together(free []string, needed int) []string {
	node, beside := map[string]int64{}, map[int64]int{}
	for _, each := range p.Devices {
		if each.NUMANode != nil && slices.Contains(free, each.ID) {
			node[each.ID] = *each.NUMANode
			beside[*each.NUMANode]++
		}
	}
	rank := func(id string) int {
		found := beside[node[id]]
		if found < needed {
			return len(p.Devices) - found // after each that is large enough
		}
		return found - len(p.Devices)
	}
	ordered := slices.Clone(free)
	slices.SortStableFunc(ordered, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(node[a], node[b]))
	})
	return ordered
}

// spread is greedyAlloc with the distributed policy, and takes the first by name where all is equal.
func (p inProcess) spread(free []string, needed int) []string {
	used, picked := map[string]int{}, map[string]int{}
	for _, each := range p.Devices {
		used[gpuOf(each.ID)]++
	}
	for _, id := range free {
		used[gpuOf(id)]--
	}
	left, chosen := slices.Clone(free), []string{}
	for range needed {
		best := slices.MinFunc(left, func(a, b string) int {
			first, second := gpuOf(a), gpuOf(b)
			if used[first] != used[second] {
				return used[first] - used[second]
			}
			return picked[first] - picked[second]
		})
		used[gpuOf(best)]++
		picked[gpuOf(best)]++
		chosen = append(chosen, best)
		left = slices.DeleteFunc(left, func(id string) bool { return id == best })
	}
	return chosen
}
