//go:build tools

// Package tools names Prometheus and promtool, so that `go mod tidy` keeps what they need.
package tools

import (
	_ "github.com/prometheus/prometheus/cmd/prometheus"
	_ "github.com/prometheus/prometheus/cmd/promtool"
)
