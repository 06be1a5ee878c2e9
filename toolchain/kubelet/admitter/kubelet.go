package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/kubernetes/pkg/kubelet/sysctl"
	schedulerframework "k8s.io/kubernetes/pkg/scheduler/framework"
)

// kubelet admits pods to one node. Only one goroutine at a time calls it; kubelet's managers ask
// for its pods from goroutines of their own.
type kubelet struct {
	node     *v1.Node
	text     string    // the description that it was started with
	state    string    // the folder of its managers' state files; empty where there are none
	offered  *offered  // nil where managers are
	managers *managers // nil on a node that nothing describes: only its predicates are asked then
	handlers lifecycle.PodAdmitHandlers

	mutex sync.Mutex
	pods  map[types.UID]*v1.Pod // admitted and not ended, and the one that is being admitted
}

// startKubelet is a kubelet of the node; its state is in a subfolder for this Node, machine and
// configuration. It takes the pods that were admitted before over where that folder is there. A
// kubelet begins without them on a machine that was installed anew or has another configuration:
// kubelet sends all pods through admission when it starts (HandlePodAdditions), and there its
// managers have given them nothing yet.
func startKubelet(ctx context.Context, node *v1.Node, folder string, before []*v1.Pod) (*kubelet, error) {
	made := &kubelet{node: node, text: node.Annotations[described], pods: map[types.UID]*v1.Pod{}}
	update := func(*schedulerframework.NodeInfo, *lifecycle.PodAdmitAttributes) error { return nil }
	var ofFeatures []lifecycle.PodAdmitHandler
	if made.text == "" {
		made.takeOver(before)
	} else {
		if err := made.startManagers(ctx, node, folder, before); err != nil {
			return nil, err
		}
		update = made.managers.devices.UpdatePluginResources
		ofFeatures = made.offered.handlers()
	}
	predicates := lifecycle.NewPredicateAdmitHandler(made.cached, nobodyGives{}, update)
	made.handlers = append(made.handlers, predicates, lifecycle.NewPodFeaturesAdmitHandler())
	made.handlers = append(made.handlers, ofFeatures...)
	return made, nil
}

func (k *kubelet) startManagers(ctx context.Context, node *v1.Node, folder string, before []*v1.Pod) error {
	asked, err := read(k.text)
	if err != nil {
		return err
	}
	k.state = stateFolder(folder, node, asked)
	if k.hasState() {
		k.takeOver(before)
	}
	if err := removeOthers(folder, k.state); err != nil {
		return err
	}
	if k.offered, err = offeredBy(ctx, asked); err != nil {
		return err
	}
	if k.managers, err = startManagers(ctx, asked, k.state, k.active); err != nil {
		return err
	}
	sysctls, err := allowedSysctls(ctx, asked)
	k.handlers = append(k.handlers, sysctls, k.managers.topology)
	return err
}

func (k *kubelet) takeOver(pods []*v1.Pod) {
	for _, pod := range pods {
		k.pods[pod.UID] = pod
	}
}

// hasState is false where the files of its managers are gone: the machine was wiped.
func (k *kubelet) hasState() bool {
	if k.state == "" {
		return true
	}
	_, err := os.Stat(k.state)
	return err == nil
}

// see takes the Node as it is now, with what kubelet itself says in its status; it tells whether
// the API server has yet to be told that.
func (k *kubelet) see(node *v1.Node) bool {
	k.node = node.DeepCopy() // kubelet's predicates write to its labels
	return k.offered != nil && k.offered.fill(k.node)
}

func stateFolder(folder string, node *v1.Node, asked description) string {
	digest := fnv.New64a()
	fmt.Fprint(digest, asked.Machine, string(asked.Configuration))
	return filepath.Join(folder, fmt.Sprintf("%s-%016x", node.UID, digest.Sum64()))
}

func removeOthers(folder, kept string) error {
	found, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		return err
	}
	for _, each := range found {
		if each != kept {
			if err := os.RemoveAll(each); err != nil {
				return err
			}
		}
	}
	return nil
}

func allowedSysctls(ctx context.Context, asked description) (lifecycle.PodAdmitHandler, error) {
	config, err := asked.config(ctx)
	if err != nil {
		return nil, err
	}
	return sysctl.NewAllowlist(append(sysctl.SafeSysctlAllowlist(ctx), config.AllowedUnsafeSysctls...))
}

// nobodyGives keeps the pods that run, where kubelet would end some for a critical pod.
type nobodyGives struct{}

func (nobodyGives) HandleAdmissionFailure(_ context.Context, _ *v1.Pod, reasons []lifecycle.PredicateFailureReason) (
	[]lifecycle.PredicateFailureReason, error) {
	return reasons, nil
}

func (k *kubelet) cached(context.Context, bool) (*v1.Node, error) { return k.node, nil }

func (k *kubelet) active() []*v1.Pod {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return slices.Collect(maps.Values(k.pods))
}

func (k *kubelet) holds(uid types.UID) bool {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.pods[uid] != nil
}

// admit is canAdmitPod of kubelet's allocation manager; what a refused pod was given so far is taken
// back when the managers next look at the active pods.
func (k *kubelet) admit(pod *v1.Pod) lifecycle.PodAdmitResult {
	asked := &lifecycle.PodAdmitAttributes{Pod: pod, OtherPods: k.active(), Operation: lifecycle.AddOperation}
	k.mutex.Lock()
	k.pods[pod.UID] = pod
	k.mutex.Unlock()
	for _, handler := range k.handlers {
		if result := handler.Admit(asked); !result.Admit {
			k.mutex.Lock()
			delete(k.pods, pod.UID)
			k.mutex.Unlock()
			return result
		}
	}
	k.begin(pod)
	return lifecycle.PodAdmitResult{Admit: true}
}

// begin is PreStartContainer of each container, and end is PostStopContainer.
func (k *kubelet) begin(pod *v1.Pod) {
	if k.managers == nil {
		return
	}
	for _, each := range containers(pod) {
		id := containerID(pod.UID, each.Name)
		k.managers.cpus.AddContainer(klog.Background(), pod, &each, id)
		k.managers.memory.AddContainer(klog.Background(), pod, &each, id)
		k.managers.topology.AddContainer(pod, &each, id)
	}
}

func (k *kubelet) end(uid types.UID) error {
	k.mutex.Lock()
	pod := k.pods[uid]
	delete(k.pods, uid)
	k.mutex.Unlock()
	if pod == nil || k.managers == nil {
		return nil
	}
	for _, each := range containers(pod) {
		if err := k.managers.topology.RemoveContainer(containerID(uid, each.Name)); err != nil {
			return err
		}
	}
	return nil
}

func containers(pod *v1.Pod) []v1.Container {
	return slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
}

func containerID(uid types.UID, name string) string { return string(uid) + "/" + name }

// given is what kubelet's managers keep for a container.
type given struct {
	CPUs      string              `json:"cpus,omitempty"`
	NUMANodes []int               `json:"memory_numa_nodes,omitempty"`
	Devices   map[string][]string `json:"devices,omitempty"`
}

// placement is what each container of an admitted pod was given, by its name.
func (k *kubelet) placement(pod *v1.Pod) map[string]given {
	found := map[string]given{}
	if k.managers == nil {
		return found
	}
	for _, each := range containers(pod) {
		uid := string(pod.UID)
		got := given{CPUs: k.managers.cpus.GetExclusiveCPUs(uid, each.Name).String()}
		for _, block := range k.managers.memory.GetMemory(uid, each.Name) {
			if block.Type == v1.ResourceMemory {
				got.NUMANodes = block.NUMAAffinity
			}
		}
		got.Devices = ids(k.managers.devices.GetDevices(uid, each.Name))
		if got.CPUs != "" || got.NUMANodes != nil || len(got.Devices) > 0 {
			found[each.Name] = got
		}
	}
	return found
}

func ids(devices devicemanager.ResourceDeviceInstances) map[string][]string {
	found := map[string][]string{}
	for resource, instances := range devices {
		found[resource] = slices.Sorted(maps.Keys(instances))
	}
	return found
}
