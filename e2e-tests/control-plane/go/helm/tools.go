//go:build tools

// Package tools names helm, with which tests install the chart, so that `go mod tidy` keeps what it needs.
package tools

import _ "helm.sh/helm/v4/cmd/helm"
