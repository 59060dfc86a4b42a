module github.com/lmcache-kubewarden/lmcache-kubewarden/e2e-tests/control-plane/go/prometheus

go 1.26.7

require github.com/prometheus/prometheus v0.316.0
