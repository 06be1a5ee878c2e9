package main

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

type rendering struct {
	chart   *chart.Chart
	crds    []Object
	files   map[string]string // template -> text
	lookups []string
}

// render does what pkg/action does for an installation (RunWithContext, renderResources), whose
// package would bring Helm's storage, registry and cluster clients into the build.
func render(question Question) (*rendering, error) {
	loaded, err := load(question)
	if err != nil {
		return nil, err
	}
	if kind := loaded.Metadata.Type; kind != "" && kind != "application" {
		return nil, fmt.Errorf("%s charts are not installable", kind)
	}
	if err := complete(loaded); err != nil {
		return nil, err
	}
	values := question.Values
	if values == nil {
		values = map[string]any{}
	}
	if err := chartutil.ProcessDependencies(loaded, values); err != nil {
		return nil, fmt.Errorf("chart dependencies processing failed: %w", err)
	}
	found := &rendering{chart: loaded}
	if !question.SkipCRDs {
		if found.crds, err = definitions(loaded); err != nil {
			return nil, err
		}
	}
	capabilities, err := capabilitiesOf(question, found.crds)
	if err != nil {
		return nil, err
	}
	wanted, server := loaded.Metadata.KubeVersion, capabilities.KubeVersion
	if wanted != "" && !chartutil.IsCompatibleRange(wanted, server.String()) {
		return nil, fmt.Errorf(
			"chart requires kubeVersion: %s which is incompatible with Kubernetes %s", wanted, server.Version)
	}
	options := common.ReleaseOptions{
		Name: question.Name, Namespace: question.Namespace, Revision: 1, IsInstall: true,
	}
	top, err := util.ToRenderValues(loaded, values, options, capabilities)
	if err != nil {
		return nil, err
	}
	renderer := engine.Engine{CustomTemplateFuncs: map[string]any{"lookup": found.lookup}}
	if found.files, err = renderer.Render(loaded, top); err != nil {
		return nil, err
	}
	for name := range found.files {
		if strings.HasSuffix(name, "NOTES.txt") || strings.HasPrefix(path.Base(name), "_") {
			delete(found.files, name)
		}
	}
	return found, nil
}

// complete says which charts of Chart.yaml are missing in the folder charts/.
func complete(loaded *chart.Chart) error {
	var missing []string
	for _, wanted := range loaded.Metadata.Dependencies {
		has := func(each *chart.Chart) bool { return each.Name() == wanted.Name }
		if !slices.ContainsFunc(loaded.Dependencies(), has) {
			missing = append(missing, wanted.Name)
		}
	}
	if missing == nil {
		return nil
	}
	return fmt.Errorf("found in Chart.yaml, but missing in charts/ directory: %s", strings.Join(missing, ", "))
}

// definitions returns the CRDs of the folders `crds`.
func definitions(loaded *chart.Chart) ([]Object, error) {
	found := []Object{}
	for _, file := range loaded.CRDObjects() {
		for _, document := range releaseutil.SplitManifests(string(file.File.Data)) {
			if err := add(&found, file.Filename, document); err != nil {
				return nil, err
			}
		}
	}
	slices.SortStableFunc(found, func(a, b Object) int { return strings.Compare(a.Source, b.Source) })
	return found, nil
}

// capabilitiesOf returns what the cluster serves, and the kinds of the CRDs, which Helm installs
// before it asks the cluster.
func capabilitiesOf(question Question, crds []Object) (*common.Capabilities, error) {
	found := common.DefaultCapabilities.Copy()
	if question.KubeVersion != "" {
		version, err := common.ParseKubeVersion(question.KubeVersion)
		if err != nil {
			return nil, fmt.Errorf("kube_version %q: %w", question.KubeVersion, err)
		}
		found.KubeVersion = *version
	}
	if question.APIVersions != nil {
		found.APIVersions = question.APIVersions
	}
	for _, each := range crds {
		var crd apiextensions.CustomResourceDefinition
		if err := json.Unmarshal(each.Object, &crd); err != nil {
			return nil, fmt.Errorf("%s: %w", each.Source, err)
		}
		for _, version := range crd.Spec.Versions {
			name := path.Join(crd.Spec.Group, version.Name)
			found.APIVersions = append(found.APIVersions, name, path.Join(name, crd.Spec.Names.Kind))
		}
	}
	return found, nil
}

// lookup answers as Helm does without a cluster, and remembers what was asked.
func (found *rendering) lookup(apiVersion, kind, namespace, name string) (map[string]any, error) {
	asked := strings.TrimSpace(strings.Join([]string{apiVersion, kind, path.Join(namespace, name)}, " "))
	if !slices.Contains(found.lookups, asked) {
		found.lookups = append(found.lookups, asked)
	}
	return map[string]any{}, nil
}

func (found *rendering) answer(second *rendering) (*Answer, error) {
	answer := &Answer{
		Chart: found.chart.Metadata, CRDs: append([]Object{}, found.crds...), Objects: []Object{}, Hooks: []Hook{},
		Varying: found.varying(second), Lookups: append([]string{}, found.lookups...),
	}
	slices.Sort(answer.Lookups)
	hooks, manifests, err := releaseutil.SortManifests(found.files, nil, releaseutil.InstallOrder)
	if err != nil {
		return nil, err
	}
	for _, each := range manifests {
		if err := add(&answer.Objects, each.Name, each.Content); err != nil {
			return nil, err
		}
	}
	for _, each := range hooks {
		object, err := toJSON(each.Path, each.Manifest)
		if err != nil {
			return nil, err
		}
		hook := Hook{Object: Object{Source: each.Path, Object: object}, Weight: each.Weight, DeletePolicies: []string{}}
		for _, event := range each.Events {
			hook.Events = append(hook.Events, event.String())
		}
		for _, policy := range each.DeletePolicies {
			hook.DeletePolicies = append(hook.DeletePolicies, policy.String())
		}
		answer.Hooks = append(answer.Hooks, hook)
	}
	return answer, nil
}

func (found *rendering) varying(second *rendering) []string {
	names := []string{}
	for name, text := range found.files {
		if second.files[name] != text {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func add(objects *[]Object, source, document string) error {
	object, err := toJSON(source, document)
	if err == nil && string(object) != "null" { // a document of comments alone
		*objects = append(*objects, Object{Source: source, Object: object})
	}
	return err
}

func toJSON(source, document string) (json.RawMessage, error) {
	object, err := yaml.YAMLToJSON([]byte(document))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	return object, nil
}
