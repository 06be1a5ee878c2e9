package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
)

const (
	admitted = "rehearsal.fleet.gpu/admitted" // rehearsal/stages.yaml selects it
	played   = "kwok.x-k8s.io/node"
	byNode   = "node"
	workers  = 16
)

// admitter has the kubelets of all nodes that kwok plays.
type admitter struct {
	client kubernetes.Interface
	folder string
	queue  workqueue.TypedRateLimitingInterface[string] // names of nodes; one worker at a time has each
	nodes  cache.Indexer
	pods   cache.Indexer
	events record.EventBroadcaster
	failed chan error

	mutex    sync.Mutex
	kubelets map[string]*decided
}

// decided is a kubelet and its decisions on pods that have not ended.
type decided struct {
	*kubelet
	on map[types.UID]*decision
}

// decision is written once it is in the API server.
type decision struct {
	result  lifecycle.PodAdmitResult
	written bool
}

func newAdmitter(client kubernetes.Interface, folder string) *admitter {
	limits := workqueue.DefaultTypedControllerRateLimiter[string]()
	return &admitter{
		client:   client,
		folder:   folder,
		queue:    workqueue.NewTypedRateLimitingQueue(limits),
		events:   record.NewBroadcaster(),
		failed:   make(chan error, workers),
		kubelets: map[string]*decided{},
	}
}

// run ends without an error when the context does.
func (a *admitter) run(ctx context.Context) error {
	defer a.queue.ShutDown()
	defer a.events.Shutdown()
	a.events.StartRecordingToSink(&corev1.EventSinkImpl{Interface: a.client.CoreV1().Events("")})
	if err := a.watch(ctx); err != nil {
		return err
	}
	for range workers {
		go func() {
			for a.next(ctx) {
			}
		}()
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-a.failed:
		return err
	}
}

func (a *admitter) watch(ctx context.Context) error {
	bound := informers.WithTweakListOptions(func(options *metav1.ListOptions) {
		options.FieldSelector = fields.OneTermNotEqualSelector("spec.nodeName", "").String()
	})
	pods := informers.NewSharedInformerFactoryWithOptions(a.client, 0, bound).Core().V1().Pods().Informer()
	nodes := informers.NewSharedInformerFactory(a.client, 0).Core().V1().Nodes().Informer()
	index := func(found any) ([]string, error) { return []string{found.(*v1.Pod).Spec.NodeName}, nil }
	if err := pods.AddIndexers(cache.Indexers{byNode: index}); err != nil {
		return err
	}
	ofPod := func(found any) {
		if pod, ok := last(found).(*v1.Pod); ok {
			a.queue.Add(pod.Spec.NodeName)
		}
	}
	ofNode := func(found any) {
		if node, ok := last(found).(*v1.Node); ok {
			a.queue.Add(node.Name)
		}
	}
	for informer, changed := range map[cache.SharedIndexInformer]func(any){pods: ofPod, nodes: ofNode} {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: changed, DeleteFunc: changed, UpdateFunc: func(_, now any) { changed(now) },
		})
		if err != nil {
			return err
		}
		go informer.RunWithContext(ctx)
	}
	a.pods, a.nodes = pods.GetIndexer(), nodes.GetIndexer()
	cache.WaitForCacheSync(ctx.Done(), pods.HasSynced, nodes.HasSynced)
	return nil
}

// last is an object of a notice, also of one that says only that it is gone.
func last(found any) any {
	if gone, ok := found.(cache.DeletedFinalStateUnknown); ok {
		return gone.Obj
	}
	return found
}

func (a *admitter) next(ctx context.Context) bool {
	name, ended := a.queue.Get()
	if ended {
		return false
	}
	defer a.queue.Done(name)
	if err := a.sync(ctx, name); err != nil && ctx.Err() == nil {
		fmt.Fprintf(os.Stderr, "node %s: %v\n", name, err)
		a.queue.AddRateLimited(name)
		return true
	}
	a.queue.Forget(name)
	return true
}

// sync takes the pods of a node that have ended from its kubelet, and lets it admit those that came.
func (a *admitter) sync(ctx context.Context, name string) error {
	found, known, err := a.nodes.GetByKey(name)
	if err != nil {
		return err
	}
	if !known {
		a.mutex.Lock()
		delete(a.kubelets, name)
		a.mutex.Unlock()
		return os.RemoveAll(filepath.Join(a.folder, name))
	}
	node := found.(*v1.Node)
	if node.Annotations[played] == "" {
		return nil // its machine is off
	}
	pods, err := a.podsOf(name)
	if err != nil {
		return err
	}
	kubelet, err := a.kubeletOf(ctx, node, pods)
	if err != nil {
		a.failed <- fmt.Errorf("the kubelet of node %s would not start: %w", name, err)
		return err
	}
	if kubelet.see(node) {
		if err := a.tell(ctx, kubelet.node); err != nil {
			return err
		}
	}
	if err := kubelet.forget(pods); err != nil {
		return err
	}
	recorder := a.events.NewRecorder(scheme.Scheme, v1.EventSource{Component: "kubelet", Host: name})
	for _, pod := range pods {
		if err := a.decide(ctx, kubelet, pod, recorder); err != nil {
			return err
		}
	}
	return nil
}

// podsOf are the pods of a node that have not ended, the oldest first, as kubelet takes them.
func (a *admitter) podsOf(name string) ([]*v1.Pod, error) {
	found, err := a.pods.ByIndex(byNode, name)
	pods := []*v1.Pod{}
	for _, each := range found {
		if pod := each.(*v1.Pod); !podutil.IsPodPhaseTerminal(pod.Status.Phase) {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *v1.Pod) int { // kubelet's order of those of one second is chance
		return cmp.Or(a.CreationTimestamp.Time.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return pods, err
}

// kubeletOf is the kubelet of this very Node; another machine or configuration starts another one,
// and so does a wiped machine.
func (a *admitter) kubeletOf(ctx context.Context, node *v1.Node, pods []*v1.Pod) (*decided, error) {
	a.mutex.Lock()
	known := a.kubelets[node.Name]
	a.mutex.Unlock()
	same := known != nil && known.node.UID == node.UID && known.text == node.Annotations[described]
	if same && known.hasState() {
		return known, nil
	}
	running := slices.DeleteFunc(slices.Clone(pods), func(pod *v1.Pod) bool { return !isMarked(pod) })
	started, err := startKubelet(ctx, node, filepath.Join(a.folder, node.Name), running)
	if err != nil {
		return nil, err
	}
	made := &decided{kubelet: started, on: map[types.UID]*decision{}}
	for _, pod := range started.active() {
		made.on[pod.UID] = &decision{result: lifecycle.PodAdmitResult{Admit: true}, written: true}
	}
	a.mutex.Lock()
	a.kubelets[node.Name] = made
	a.mutex.Unlock()
	return made, nil
}

func isMarked(pod *v1.Pod) bool {
	_, is := pod.Annotations[admitted]
	return is
}

func (d *decided) forget(pods []*v1.Pod) error {
	for uid := range d.on {
		if slices.ContainsFunc(pods, func(pod *v1.Pod) bool { return pod.UID == uid }) {
			continue
		}
		delete(d.on, uid)
		if err := d.end(uid); err != nil {
			return err
		}
	}
	return nil
}

func (a *admitter) decide(ctx context.Context, kubelet *decided, pod *v1.Pod, recorder record.EventRecorder) error {
	made := kubelet.on[pod.UID]
	if made == nil && pod.DeletionTimestamp != nil {
		return nil
	}
	if made == nil {
		made = &decision{result: kubelet.admit(pod.DeepCopy())}
		kubelet.on[pod.UID] = made
		if !made.result.Admit {
			recorder.Event(pod, v1.EventTypeWarning, made.result.Reason, made.result.Message)
		}
	}
	if made.written {
		return nil
	}
	var err error
	if made.result.Admit {
		err = a.mark(ctx, pod, kubelet.placement(pod))
	} else {
		err = a.fail(ctx, pod, made.result)
	}
	made.written = err == nil
	return err
}
