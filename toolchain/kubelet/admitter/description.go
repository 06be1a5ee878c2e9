package main

import (
	"context"
	"encoding/json"
	"fmt"

	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/scheme"
	"k8s.io/kubernetes/pkg/kubelet/kubeletconfig/util/codec"

	"gpu-fleet/toolchain/kubelet/machine"
)

// described is the annotation of a Node that says what its kubelet is; rehearsal/kubelet.py writes
// it.
const described = "rehearsal.fleet.gpu/kubelet"

// description is a machine, its KubeletConfiguration, and what its device plugins offer.
type description struct {
	machine.Machine
	Configuration json.RawMessage `json:"configuration"`
	Plugins       []plugin        `json:"plugins"`
}

// plugin offers the devices of a resource. AtMostOne is failRequestsGreaterThanOne of NVIDIA's.
type plugin struct {
	Resource  string   `json:"resource"`
	Devices   []device `json:"devices"`
	AtMostOne bool     `json:"at_most_one"`
}

// device has no NUMA node where its plugin states none.
type device struct {
	ID       string `json:"id"`
	NUMANode *int64 `json:"numa_node"`
}

func read(text string) (description, error) {
	var found description
	err := json.Unmarshal([]byte(text), &found)
	return found, err
}

// config is the configuration with kubelet's defaults.
func (d description) config(ctx context.Context) (*kubeletconfig.KubeletConfiguration, error) {
	_, codecs, err := scheme.NewSchemeAndCodecs()
	if err != nil {
		return nil, err
	}
	config, err := codec.DecodeKubeletConfiguration(ctx, codecs, d.Configuration)
	if err != nil {
		return nil, fmt.Errorf("its configuration cannot be read: %w", err)
	}
	return config, nil
}
