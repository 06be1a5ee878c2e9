//go:build tools

// Package tools pins Volcano's scheduler, which the sharing of machines between queues is tested on.
package tools

import (
	_ "volcano.sh/volcano/cmd/scheduler"
)
