//go:build tools

// Package tools pins Karpenter: its core controllers with the AWS provider, as its chart runs them.
package tools

import _ "github.com/aws/karpenter-provider-aws/cmd/controller"
