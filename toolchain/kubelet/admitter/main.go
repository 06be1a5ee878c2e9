// admitter is the admission of the kubelets of a rehearsal: kwok plays their pods, and runs one
// only when this program has marked it. Each Node's annotation says which machine it is and how its
// kubelet is configured; kubelet's own CPU, memory, device and Topology Manager and its predicates
// then decide in kubelet's order, and a refusal is the pod's failure in kubelet's words.
//
// Left out of kubelet (NewMainKubelet's admit handlers): pods that critical ones would end to make
// room, refusals while the machine is short of memory, drive space or process ids (eviction) or
// shuts down, AppArmor, changes of a running pod's resources, and feature gates of a configuration
// but in what the node declares (one process has one set).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	checkpointerrors "k8s.io/kubernetes/pkg/kubelet/checkpointmanager/errors"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "how to reach the API server")
	folder := flag.String("state", "", "a folder for the state files of kubelet's managers")
	flag.Parse()
	klog.SetLogger(logr.New(errorsAlone{}))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, *kubeconfig, *folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig, folder string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1 // the kubelets of a fleet have a limit each
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	return newAdmitter(client, folder).run(ctx)
}

// errorsAlone writes kubelet's and client-go's errors; what they say of each step is not news here.
type errorsAlone struct{}

func (errorsAlone) Init(logr.RuntimeInfo)            {}
func (errorsAlone) Enabled(int) bool                 { return false }
func (errorsAlone) Info(int, string, ...any)         {}
func (e errorsAlone) WithValues(...any) logr.LogSink { return e }
func (e errorsAlone) WithName(string) logr.LogSink   { return e }
func (errorsAlone) Error(err error, text string, _ ...any) {
	if errors.Is(err, checkpointerrors.ErrCheckpointNotFound) {
		return // a kubelet that starts for the first time
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", text, err)
}
