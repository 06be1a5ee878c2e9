//go:build tools

// Package tools pins actionlint, which checks the workflows of this repository.
package tools

import _ "github.com/rhysd/actionlint/cmd/actionlint"
