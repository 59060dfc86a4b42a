//go:build tools

// Package tools names actionlint, which checks GitHub workflows, so that `go mod tidy` keeps what it needs.
package tools

import _ "github.com/rhysd/actionlint"
