package main

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	logsapi "k8s.io/component-base/logs/api/v1"
	baseversion "k8s.io/component-base/version"
	"k8s.io/component-helpers/nodedeclaredfeatures"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
)

func init() {
	// as cmd/kubelet/app does; a configuration may name them
	utilruntime.Must(logsapi.AddFeatureGates(utilfeature.DefaultMutableFeatureGate))
}

// offered is what a kubelet says of its features in the Node's status.
type offered struct {
	declared  []string // sorted, as kubelet's framework gives them
	declares  bool     // whether the gate NodeDeclaredFeatures is on
	ofRuntime *v1.NodeFeatures
}

// offeredBy asks kubelet's own framework, with the gates of the configuration, as
// discoverNodeDeclaredFeatures does. What a container runtime offers is what containerd 2.1 to 2.3
// answer (internal/cri/server/service.go): SupplementalGroupsPolicy, and no user namespaces beside
// the network of the host.
func offeredBy(ctx context.Context, asked description) (*offered, error) {
	config, err := asked.config(ctx)
	if err != nil {
		return nil, err
	}
	gates := utilfeature.DefaultMutableFeatureGate.DeepCopy()
	if err := gates.SetFromMap(config.FeatureGates); err != nil {
		return nil, fmt.Errorf("its feature gates cannot be set: %w", err)
	}
	yes := true
	made := &offered{
		declares:  gates.Enabled(features.NodeDeclaredFeatures),
		ofRuntime: &v1.NodeFeatures{SupplementalGroupsPolicy: &yes},
	}
	if made.declares {
		made.declared = nodedeclaredfeatures.DefaultFramework.DiscoverNodeFeatures(
			&nodedeclaredfeatures.NodeConfiguration{FeatureGates: byName{gates}, Version: ownVersion})
	}
	return made, nil
}

// ownVersion is that of the kubelet that this program is made of.
var ownVersion = version.MustParse(baseversion.DefaultKubeBinaryVersion)

// byName is FeatureGateAdapter of pkg/kubelet.
type byName struct{ featuregate.FeatureGate }

func (g byName) Enabled(name string) bool { return g.FeatureGate.Enabled(featuregate.Feature(name)) }

// handlers refuse the pods that need a feature that is not declared.
func (o *offered) handlers() []lifecycle.PodAdmitHandler {
	if !o.declares {
		return nil
	}
	framework := nodedeclaredfeatures.DefaultFramework
	set := framework.MustMapSorted(o.declared)
	return []lifecycle.PodAdmitHandler{lifecycle.NewDeclaredFeaturesAdmitHandler(framework, set, ownVersion)}
}

// fill writes them into a Node's status, and says whether it told otherwise.
func (o *offered) fill(node *v1.Node) bool {
	said := slices.Equal(node.Status.DeclaredFeatures, o.declared) &&
		apiequality.Semantic.DeepEqual(node.Status.Features, o.ofRuntime)
	node.Status.DeclaredFeatures, node.Status.Features = o.declared, o.ofRuntime
	return !said
}
