package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"time"
	"unsafe"

	cadvisor "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	devicemanagerplugin "k8s.io/kubernetes/pkg/kubelet/cm/devicemanager/plugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	kubeletsources "k8s.io/kubernetes/pkg/kubelet/config"
)

// managers are those of NewContainerManager, with their state files in one folder.
type managers struct {
	topology topologymanager.Manager
	devices  *devicemanager.ManagerImpl
	cpus     cpumanager.Manager
	memory   memorymanager.Manager
}

// startManagers goes the way of NewContainerManager and of its Start; state files in the folder are
// taken up, as a kubelet does that was started again.
func startManagers(ctx context.Context, asked description, folder string, activePods func() []*v1.Pod) (
	*managers, error) {
	config, err := asked.config(ctx)
	if err != nil {
		return nil, err
	}
	reserved, err := asked.ReservedCPUs(config)
	if err != nil {
		return nil, err
	}
	kept, err := asked.Reservation(config, reserved)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	info, logger := asked.Info(), klog.FromContext(ctx)
	made := &managers{}
	made.topology, err = topologymanager.NewManager(info.Topology, config.TopologyManagerPolicy,
		config.TopologyManagerScope, config.TopologyManagerPolicyOptions)
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(folder, "kubelet.sock") // which is never opened
	made.devices, err = newDeviceManager(logger, socket, info.Topology, made.topology)
	if err != nil {
		return nil, err
	}
	closeServer(made.devices)
	made.cpus, err = cpumanager.NewManager(logger, config.CPUManagerPolicy, config.CPUManagerPolicyOptions,
		neverAgain, info, reserved, kept, folder, made.topology)
	if err != nil {
		return nil, fmt.Errorf("failed to initialize cpu manager: %w", err)
	}
	made.memory, err = memorymanager.NewManager(logger, config.MemoryManagerPolicy, info, kept,
		config.ReservedMemory, folder, made.topology)
	if err != nil {
		return nil, err
	}
	made.topology.AddHintProvider(logger, made.devices)
	made.topology.AddHintProvider(logger, made.cpus)
	made.topology.AddHintProvider(logger, made.memory)
	return made, made.start(ctx, asked.Plugins, activePods)
}

// neverAgain is between two looks of the CPU manager at containers, of which there is none.
const neverAgain = 1000 * time.Hour

func (m *managers) start(ctx context.Context, plugins []plugin, activePods func() []*v1.Pod) error {
	logger := klog.FromContext(ctx)
	ready := kubeletsources.NewSourcesReady(func(sets.Set[string]) bool { return true })
	err := m.cpus.Start(ctx, activePods, ready, noStatus{}, nil, containermap.NewContainerMap())
	if err != nil {
		return fmt.Errorf("start cpu manager error: %w", err)
	}
	err = m.memory.Start(ctx, activePods, ready, noStatus{}, nil, containermap.NewContainerMap())
	if err != nil {
		return fmt.Errorf("start memory manager error: %w", err)
	}
	err = m.devices.Start(logger, activePods, ready, containermap.NewContainerMap(), sets.New[string]())
	if err != nil {
		return err
	}
	for _, each := range plugins {
		if err := m.devices.PluginConnected(ctx, each.Resource, inProcess{plugin: each}); err != nil {
			return err
		}
		m.devices.PluginListAndWatchReceiver(logger, each.Resource, inProcess{plugin: each}.offered())
	}
	return nil
}

// noStatus is asked by the CPU manager for the containers of a pod.
type noStatus struct{}

func (noStatus) GetPodStatus(types.UID) (v1.PodStatus, bool) { return v1.PodStatus{}, false }

// newDeviceManager is NewManagerImpl with a folder: that one writes into /var/lib/kubelet alone.
//
//go:linkname newDeviceManager k8s.io/kubernetes/pkg/kubelet/cm/devicemanager.newManagerImpl
func newDeviceManager(logger klog.Logger, socket string, topology []cadvisor.Node,
	affinity topologymanager.Store) (*devicemanager.ManagerImpl, error)

// closeServer takes the socket away at which plugins register: ours are in this process.
func closeServer(manager *devicemanager.ManagerImpl) {
	field := reflect.ValueOf(manager).Elem().FieldByName("server")
	server := reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem()
	server.Set(reflect.ValueOf(closedServer{}))
}

type closedServer struct{ devicemanagerplugin.Server }

func (closedServer) Start(klog.Logger) error { return nil }
