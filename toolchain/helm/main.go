// helm-render renders a chart as `helm install` would: with its dependencies, its schema and what
// the cluster serves, but with no cluster. One question as JSON on stdin, one answer on stdout:
//
//	{"chart": FOLDER or .tgz, "name": "...", "namespace": "...", "values": {...},
//	 "defaults": {...}, "version": "", "skip_crds": false, "kube_version": "v1.34.1",
//	 "api_versions": ["apps/v1", ...]}
//
//	{"chart": {...}, "crds": [...], "objects": [...], "hooks": [...], "varying": [...], "lookups": [...]}
//
// `defaults` take the place of values in the chart's own values.yaml; `version` that of the version
// in its Chart.yaml. Both are what a project's release script writes into a chart.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"

	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
)

// Question is what is asked; see above.
type Question struct {
	Chart       string         `json:"chart"`
	Name        string         `json:"name"`
	Namespace   string         `json:"namespace"`
	Values      map[string]any `json:"values"`
	Defaults    map[string]any `json:"defaults"`
	Version     string         `json:"version"`
	SkipCRDs    bool           `json:"skip_crds"`
	KubeVersion string         `json:"kube_version"`
	APIVersions []string       `json:"api_versions"`
}

// Answer is what the chart becomes.
type Answer struct {
	Chart   *chart.Metadata `json:"chart"`
	CRDs    []Object        `json:"crds"`    // of the folders `crds`, unless they are to be skipped
	Objects []Object        `json:"objects"` // in the order of their installation
	Hooks   []Hook          `json:"hooks"`
	Varying []string        `json:"varying"` // templates that each rendering gives another text
	Lookups []string        `json:"lookups"` // objects of the cluster for which templates ask
}

// Object is one object with the template that it comes from.
type Object struct {
	Source string          `json:"source"`
	Object json.RawMessage `json:"object"`
}

// Hook is an object that Helm makes at an event of the release, and is no part of it.
type Hook struct {
	Object
	Events         []string `json:"events"`
	Weight         int      `json:"weight"`
	DeletePolicies []string `json:"delete_policies"`
}

func main() {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil))) // warnings of values and hooks
	if err := answer(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func answer(in io.Reader, out io.Writer) error {
	var question Question
	decoder := json.NewDecoder(in)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&question); err != nil {
		return fmt.Errorf("the question is no JSON of the known form: %w", err)
	}
	first, err := render(question)
	if err != nil {
		return err
	}
	second, err := render(question) // a certificate or a password that a template makes is another
	if err != nil {
		return err
	}
	found, err := first.answer(second)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(found)
}

// load reads the chart, with what a release script would have written into it.
func load(question Question) (*chart.Chart, error) {
	loaded, err := loader.Load(question.Chart)
	if err != nil {
		return nil, err
	}
	if question.Version != "" {
		loaded.Metadata.Version = question.Version
		loaded.Metadata.AppVersion = question.Version
	}
	if question.Defaults != nil {
		loaded.Values = util.CoalesceTables(question.Defaults, loaded.Values)
	}
	return loaded, nil
}
