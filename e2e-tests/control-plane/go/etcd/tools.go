//go:build tools

// Package tools names etcd, so that `go mod tidy` keeps what it needs.
package tools

import _ "go.etcd.io/etcd/server/v3/etcdmain"
