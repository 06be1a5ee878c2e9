// volcano is Volcano's scheduler, controller manager and webhook manager in one binary: they share
// most of their code. Each takes the flags of its own program, as its chart gives them.
package main

import (
	"fmt"
	"os"
	"sort"

	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/config/options"
	"k8s.io/klog/v2"

	manager "volcano.sh/volcano/cmd/controller-manager/app"
	manageroptions "volcano.sh/volcano/cmd/controller-manager/app/options"
	scheduler "volcano.sh/volcano/cmd/scheduler/app"
	scheduleroptions "volcano.sh/volcano/cmd/scheduler/app/options"
	webhook "volcano.sh/volcano/cmd/webhook-manager/app"
	webhookoptions "volcano.sh/volcano/cmd/webhook-manager/app/options"
	_ "volcano.sh/volcano/pkg/controllers/colocationconfig"
	_ "volcano.sh/volcano/pkg/controllers/cronjob"
	"volcano.sh/volcano/pkg/controllers/framework"
	_ "volcano.sh/volcano/pkg/controllers/garbagecollector"
	_ "volcano.sh/volcano/pkg/controllers/hypernode"
	_ "volcano.sh/volcano/pkg/controllers/job"
	_ "volcano.sh/volcano/pkg/controllers/jobflow"
	_ "volcano.sh/volcano/pkg/controllers/jobtemplate"
	_ "volcano.sh/volcano/pkg/controllers/podgroup"
	_ "volcano.sh/volcano/pkg/controllers/queue"
	_ "volcano.sh/volcano/pkg/controllers/sharding"
	_ "volcano.sh/volcano/pkg/scheduler/actions"
	_ "volcano.sh/volcano/pkg/scheduler/plugins"
	_ "volcano.sh/volcano/pkg/scheduler/util/assert"
	"volcano.sh/volcano/pkg/util"
	_ "volcano.sh/volcano/pkg/webhooks/admission/cronjobs/validate"
	_ "volcano.sh/volcano/pkg/webhooks/admission/hypernodes/validate"
	_ "volcano.sh/volcano/pkg/webhooks/admission/jobflows/validate"
	_ "volcano.sh/volcano/pkg/webhooks/admission/jobs/mutate"
	_ "volcano.sh/volcano/pkg/webhooks/admission/jobs/validate"
	_ "volcano.sh/volcano/pkg/webhooks/admission/podgroups/mutate"
	_ "volcano.sh/volcano/pkg/webhooks/admission/podgroups/validate"
	_ "volcano.sh/volcano/pkg/webhooks/admission/pods/mutate"
	_ "volcano.sh/volcano/pkg/webhooks/admission/pods/validate"
	_ "volcano.sh/volcano/pkg/webhooks/admission/queues/mutate"
	_ "volcano.sh/volcano/pkg/webhooks/admission/queues/validate"
)

// by the names of the images that the chart's Deployments run
var programs = map[string]func() error{
	"vc-scheduler":          schedule,
	"vc-controller-manager": control,
	"vc-webhook-manager":    admit,
}

func main() {
	if len(os.Args) < 2 || programs[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr,
			"usage: volcano vc-scheduler|vc-controller-manager|vc-webhook-manager [flags]")
		os.Exit(2)
	}
	run := programs[os.Args[1]]
	os.Args = append([]string{os.Args[1]}, os.Args[2:]...)
	klog.InitFlags(nil)
	defer klog.Flush()
	if err := run(); err != nil {
		klog.Flush()
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func schedule() error {
	given := scheduleroptions.NewServerOption()
	given.AddFlags(pflag.CommandLine)
	utilfeature.DefaultMutableFeatureGate.AddFlag(pflag.CommandLine)
	util.LeaderElectionDefault(&given.LeaderElection)
	given.LeaderElection.ResourceName = util.GenerateComponentName(given.SchedulerNames)
	options.BindLeaderElectionFlags(&given.LeaderElection, pflag.CommandLine)
	given.RegisterOptions()
	cliflag.InitFlags()
	if err := given.CheckOptionOrDie(); err != nil {
		return err
	}
	return scheduler.Run(given)
}

func control() error {
	given := manageroptions.NewServerOption()
	var known []string
	framework.ForeachController(func(controller framework.Controller) {
		known = append(known, controller.Name())
	})
	sort.Strings(known)
	given.AddFlags(pflag.CommandLine, known)
	utilfeature.DefaultMutableFeatureGate.AddFlag(pflag.CommandLine)
	util.LeaderElectionDefault(&given.LeaderElection)
	given.LeaderElection.ResourceName = "vc-controller-manager"
	options.BindLeaderElectionFlags(&given.LeaderElection, pflag.CommandLine)
	cliflag.InitFlags()
	if err := given.CheckOptionOrDie(); err != nil {
		return err
	}
	return manager.Run(given)
}

func admit() error {
	given := webhookoptions.NewConfig()
	given.AddFlags(pflag.CommandLine)
	cliflag.InitFlags()
	if err := given.CheckPortOrDie(); err != nil {
		return err
	}
	if err := given.ParseCAFiles(nil); err != nil {
		return err
	}
	return webhook.Run(given)
}
