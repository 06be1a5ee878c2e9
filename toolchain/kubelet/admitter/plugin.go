package main

import (
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
// the best links; of replicas the GPU with the fewest in use. It counts an instance of MIG as a GPU
// of its own (prepareCandidates in allocate.go goes by the id before "::"), so it prefers none, and
// here the first by name is given. The RDMA shared device plugin (v1.5.3, pkg/resources/server.go)
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
		available := slices.Sorted(slices.Values(each.AvailableDeviceIDs))
		size := min(int(each.AllocationSize), len(available))
		choose := p.spread
		if p.plugin.Resource == "nvidia.com/gpu" && !slices.ContainsFunc(available, isReplica) {
			choose = p.together
		}
		preferred := choose(available, each.MustIncludeDeviceIDs, size)
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

// spread is greedyAlloc with the distributed policy, and takes the first by name where all is equal.
func (p inProcess) spread(available, required []string, size int) []string {
	left := slices.DeleteFunc(slices.Clone(available), func(id string) bool { return slices.Contains(required, id) })
	used, picked := map[string]int{}, map[string]int{}
	for _, each := range p.Devices {
		used[gpuOf(each.ID)]++
	}
	for _, id := range left {
		used[gpuOf(id)]--
	}
	chosen := slices.Clone(required)
	for range size - len(required) {
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
