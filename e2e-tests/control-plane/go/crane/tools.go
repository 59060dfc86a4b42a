//go:build tools

// Package tools names crane, which is a registry and its client, so that `go mod tidy` keeps what it needs.
package tools

import _ "github.com/google/go-containerregistry/cmd/crane/cmd"
