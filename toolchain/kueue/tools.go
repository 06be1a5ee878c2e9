//go:build tools

// kueue is built from its own main package; this import keeps its modules in go.mod.
package tools

import _ "sigs.k8s.io/kueue/cmd/kueue"
