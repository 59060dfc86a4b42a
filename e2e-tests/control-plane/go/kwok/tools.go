//go:build tools

// Package tools names kwok, which plays nodes and kubelets, so that `go mod tidy` keeps what it needs.
package tools

import _ "sigs.k8s.io/kwok/pkg/kwok/cmd"
