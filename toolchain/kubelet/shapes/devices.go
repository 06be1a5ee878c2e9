package main

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	resourcehelper "k8s.io/component-helpers/resource"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager/bitmask"
)

// devices gives hints and GPUs as kubelet's device manager does for one resource. Where that one
// takes devices in the random order of a Go map, the GPU with the lowest index is taken.
type devices struct {
	affinity  topologymanager.Store
	numaNodes []int
	numaNode  map[int]int // of each GPU
	free      sets.Set[int]
	reusable  sets.Set[int]
	allocated map[string]sets.Set[int]
}

func newDevices(asked node, affinity topologymanager.Store) *devices {
	d := &devices{
		affinity:  affinity,
		numaNode:  map[int]int{},
		free:      sets.New[int](),
		reusable:  sets.New[int](),
		allocated: map[string]sets.Set[int]{},
	}
	for _, numa := range asked.NUMANodes {
		d.numaNodes = append(d.numaNodes, numa.ID)
		for _, gpu := range numa.GPUs {
			d.numaNode[gpu] = numa.ID
			d.free.Insert(gpu)
		}
	}
	return d
}

// registered is false on a machine whose device plugin found no GPU: kubelet ignores the request.
func (d *devices) registered() bool { return len(d.numaNode) > 0 }

func (d *devices) of(name string) []int { return sets.List(d.allocated[name]) }

func (d *devices) GetTopologyHints(_ *v1.Pod, container *v1.Container) map[string][]topologymanager.TopologyHint {
	return d.hints(container.Resources.Limits, d.reusable)
}

func (d *devices) GetPodTopologyHints(pod *v1.Pod) map[string][]topologymanager.TopologyHint {
	limits := resourcehelper.PodLimits(pod, resourcehelper.PodResourcesOptions{ExcludeOverhead: true})
	return d.hints(limits, sets.New[int]())
}

func (d *devices) hints(limits v1.ResourceList, reusable sets.Set[int]) map[string][]topologymanager.TopologyHint {
	found := map[string][]topologymanager.TopologyHint{}
	quantity, asked := limits[gpuResource]
	if !asked || !d.registered() {
		return found
	}
	requested := int(quantity.Value())
	if d.free.Union(reusable).Len() < requested {
		found[gpuResource] = []topologymanager.TopologyHint{}
		return found
	}
	found[gpuResource] = d.masks(reusable, requested)
	return found
}

// masks is generateDeviceTopologyHints: preferred are the smallest sets of NUMA nodes that hold
// enough GPUs, in use or not.
func (d *devices) masks(reusable sets.Set[int], requested int) []topologymanager.TopologyHint {
	smallest := len(d.numaNodes)
	hints := []topologymanager.TopologyHint{}
	bitmask.IterateBitMasks(d.numaNodes, func(mask bitmask.BitMask) {
		inMask := func(gpus sets.Set[int]) int {
			count := 0
			for gpu := range gpus {
				if mask.IsSet(d.numaNode[gpu]) {
					count++
				}
			}
			return count
		}
		if inMask(sets.KeySet(d.numaNode)) >= requested && mask.Count() < smallest {
			smallest = mask.Count()
		}
		if inMask(reusable) < reusable.Len() || inMask(reusable)+inMask(d.free) < requested {
			return
		}
		hints = append(hints, topologymanager.TopologyHint{NUMANodeAffinity: mask})
	})
	for i := range hints {
		hints[i].Preferred = hints[i].NUMANodeAffinity.Count() == smallest
	}
	return hints
}

// AllocatePod is for pods with resources of their own, which the feature gate
// PodLevelResourceManagers, off by default, would let kubelet align.
func (d *devices) AllocatePod(_ *v1.Pod) error { return nil }

func (d *devices) Allocate(pod *v1.Pod, container *v1.Container) error {
	if quantity, asked := container.Resources.Limits[gpuResource]; asked && d.registered() {
		taken, err := d.take(pod, container, int(quantity.Value()))
		if err != nil {
			return err
		}
		d.allocated[container.Name] = taken
		d.free = d.free.Difference(taken)
	}
	for i := range pod.Spec.InitContainers {
		init := &pod.Spec.InitContainers[i]
		if init.Name == container.Name && !podutil.IsRestartableInitContainer(init) {
			d.reusable = d.reusable.Union(d.allocated[container.Name])
			return nil
		}
	}
	d.reusable = d.reusable.Difference(d.allocated[container.Name])
	return nil
}

// take is devicesToAllocate: what init containers leave, then what is aligned, then the rest.
func (d *devices) take(pod *v1.Pod, container *v1.Container, requested int) (sets.Set[int], error) {
	order := sets.List(d.reusable)
	if len(order) < requested {
		if d.free.Len() < requested-len(order) {
			return nil, fmt.Errorf("requested number of devices unavailable for %s. Requested: %d, Available: %d",
				gpuResource, requested-len(order), d.free.Len())
		}
		order = append(order, d.sorted(pod, container)...)
	}
	return sets.New(order[:requested]...), nil
}

// sorted has the free GPUs of the affinity's NUMA nodes before the others.
func (d *devices) sorted(pod *v1.Pod, container *v1.Container) []int {
	affinity := d.affinity.GetAffinity(string(pod.UID), container.Name).NUMANodeAffinity
	free := sets.List(d.free)
	if affinity == nil {
		return free
	}
	aligned, others := []int{}, []int{}
	for _, gpu := range free {
		if affinity.IsSet(d.numaNode[gpu]) {
			aligned = append(aligned, gpu)
		} else {
			others = append(others, gpu)
		}
	}
	return slices.Concat(aligned, others)
}
