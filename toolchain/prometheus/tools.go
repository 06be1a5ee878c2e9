//go:build tools

// Package tools pins Prometheus, which the rules and the dashboard are tested on, and promtool,
// which runs their unit tests.
package tools

import (
	_ "github.com/prometheus/prometheus/cmd/prometheus"
	_ "github.com/prometheus/prometheus/cmd/promtool"
)
