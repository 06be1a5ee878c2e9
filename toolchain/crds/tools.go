//go:build tools

// Package tools pins the modules that the CustomResourceDefinitions come from, and controller-gen,
// which makes those that a module holds only as Go types.
package tools

import (
	_ "github.com/aws/karpenter-provider-aws/pkg/apis"
	_ "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	_ "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	_ "sigs.k8s.io/controller-tools/cmd/controller-gen"
	_ "volcano.sh/volcano/pkg/version"
)
