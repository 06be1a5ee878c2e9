//go:build tools

// Package tools pins the Pulumi engine and CLI, and the SDK whose scripts start Python.
package tools

import (
	_ "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"
	_ "github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)
