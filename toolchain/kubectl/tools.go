//go:build tools

// Package tools pins kubectl, for a look into a kept twin.
package tools

import _ "k8s.io/kubernetes/cmd/kubectl"
