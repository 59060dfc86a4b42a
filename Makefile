# `make` or `make help` lists the targets. Rust alone is needed, but for `test-wasm` (Node), `e2e-kwctl` (kwctl, bats, jq), and
# the tables and servers of the LMCache releases: `releases`, `tables`, `test-tables`, `test-flags`, `test-server` (Python),
# the control plane: `e2e`, `bench-scale` (Go), and what changes a cluster: `install`, `uninstall`, `deploy`, `undeploy`
# (kubectl), `chart` (helm).
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

POLICIES := engine-validation connection-injection payload-staging cacheblend-injection pod-injection injection-guard \
	workload-preflight
WASM_TARGET := wasm32-wasip1
TARGET := $(or $(CARGO_TARGET_DIR),target)
POLICY_DIR := $(TARGET)/policies
HOST := $(TARGET)/debug/policy-host
CONTROLLER := $(TARGET)/debug/lmcache-controller
PUBLISH := $(TARGET)/debug/publish
OCI_DIR := $(TARGET)/oci
# What `make pin` pins, and where it takes the digests from: by default those of the policies built here.
MANIFESTS := deploy/policies
DIGESTS := $(OCI_DIR)/digests.yaml
# Panic messages name source files: without the paths of this machine the modules are smaller, and equal everywhere.
WASM_ENV := RUSTFLAGS="--remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)/registry/src=deps --remap-path-prefix=$(CURDIR)=."
export POLICIES_DIR := $(abspath $(POLICY_DIR))
# What `make generate` writes.
GENERATED := artifacthub docs/what-happens-to-my-pod.md crates/lmcache-server/src/table/data.rs \
	crates/policy-kit/src/pod/compatibility/table.rs \
	deploy/crds/lmcacheengines.yaml deploy/crds/cacheblendengines.yaml deploy/crds/lmcachecoordinators.yaml \
	deploy/rbac/controller.yaml deploy/rbac/users.yaml deploy/adopt/rbac.yaml docs/reference.md \
	deploy/chart/files deploy/chart/README.md dist
# For the targets that change a cluster, and for packaging.
KUBECTL ?= kubectl
HELM ?= helm
CHART := cargo run --locked --quiet -p chart --
CLUSTER = @IMG="$(IMG)" FORCE="$(FORCE)" KUBECTL="$(KUBECTL)" CHART="$(CHART)" tools/cluster
# Seconds that `make fuzz` takes, for all policies together.
export FUZZ_SECONDS ?= 60
# Largest policy that `make build` lets pass, in bytes.
MAX_WASM_BYTES := 400000

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z][a-z0-9-]*:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## Add the wasm target to the Rust toolchain
	@rustup target list --installed 2>/dev/null | grep -qx $(WASM_TARGET) || rustup target add $(WASM_TARGET)

.PHONY: host
host: ## Build policy-host, the embedded policy runner
	cargo build --locked -p policy-host

.PHONY: controller
controller: ## Build lmcache-controller
	cargo build --locked -p lmcache-controller

.PHONY: render
render: ## Print what the engines and coordinators in FILE become
	@test -n "$(FILE)" || { echo 'make render FILE=deploy/samples/lmcacheengine.yaml' >&2; exit 2; }
	@cargo run --locked --quiet -p lmcache-controller -- render -f "$(FILE)"

.PHONY: build
build: setup host ## Build and annotate the policies into target/policies, print their sizes
	$(WASM_ENV) cargo build --locked --profile wasm --target $(WASM_TARGET) $(addprefix -p ,$(POLICIES))
	@mkdir -p $(POLICY_DIR)
	@for policy in $(POLICIES); do \
		$(HOST) annotate -m metadata/$$policy/metadata.yml -u policies/$$policy/README.md \
			-o $(POLICY_DIR)/$$policy.wasm $(TARGET)/$(WASM_TARGET)/wasm/$${policy//-/_}.wasm; \
		bytes=$$(wc -c < $(TARGET)/$(WASM_TARGET)/wasm/$${policy//-/_}.wasm); \
		printf '%-24s %7d bytes of wasm (at most $(MAX_WASM_BYTES)), annotated: $(POLICY_DIR)/%s.wasm\n' $$policy $$bytes $$policy; \
		test $$bytes -le $(MAX_WASM_BYTES) || { echo "$$policy is larger than $(MAX_WASM_BYTES) bytes" >&2; exit 1; }; \
	done

.PHONY: demo
demo: build ## Run the policies against real-looking requests, show verdicts, reasons and patches
	@$(HOST) demo --policy-dir $(POLICY_DIR) fixtures/demo

.PHONY: test
test: build test-wasm test-tables ## Run all tests: pure functions, the compiled policies in the embedded host, generated files
	cargo test --locked --workspace
	cargo test --locked -p lmcache-api --features crd
	@cargo run --locked --quiet -p control-plane -- check

.PHONY: test-wasm
test-wasm: ## Run the pure crates' tests compiled to wasm in Node (skipped where Node is missing)
	@tools/test-wasm

.PHONY: test-tables
test-tables: ## Test the tool that reads the releases (skipped where Python 3.11 is missing)
	@tools/python-or-skip test-tables -m unittest discover --start-directory tools/releases/tests --top-level-directory tools

.PHONY: test-flags
test-flags: ## Give every rendered command line to the argument parsers of the released servers (PyPI, Python 3.10 or newer)
	cargo run --locked --quiet -p server-flags

.PHONY: test-server
test-server: ## Start rendered containers as processes of the released servers (PyPI, Python 3.10 to 3.13, redis-server; 6 GB, once)
	cargo run --locked --quiet -p server-processes

.PHONY: lint
lint: setup ## Check formatting and clippy, natively and for wasm
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	cargo clippy --locked -p lmcache-api --features crd --all-targets -- -D warnings
	cargo clippy --locked --target $(WASM_TARGET) $(addprefix -p ,$(POLICIES)) -- -D warnings
	@for crate in lmcache-api lmcache-server pod-edit policy-kit lmcache-controller $(POLICIES); do \
		echo "cargo check -p $$crate (alone)"; cargo check --locked --quiet -p $$crate; done

.PHONY: deny
deny: ## Check licences, sources and banned crates (installs cargo-deny where it is missing)
	@command -v cargo-deny >/dev/null || cargo install --locked --quiet cargo-deny
	cargo deny --locked check bans licenses sources

.PHONY: advisories
advisories: ## Look for known weaknesses of the dependencies (the RustSec database, from GitHub)
	@command -v cargo-deny >/dev/null || cargo install --locked --quiet cargo-deny
	cargo deny --locked check advisories

.PHONY: publish
publish:
	@cargo build --locked --quiet -p publish

.PHONY: package
package: build publish ## Write the policies as OCI image layouts, as kwctl pushes them, and their digests, into target/oci
	@$(PUBLISH) package --policies $(POLICY_DIR) -o $(OCI_DIR)

.PHONY: registry-given
registry-given:
	@test -n "$(REGISTRY)" || { echo 'make push REGISTRY=ghcr.io/acme/policies' >&2; exit 2; }

.PHONY: push
push: registry-given package ## Push the policies to REGISTRY=host/path [TAG=] [PUSH_ARGS=]; login: `docker login`, or REGISTRY_USERNAME and _PASSWORD
	@$(PUBLISH) push "$(REGISTRY)" --policies $(POLICY_DIR) $(if $(TAG),--tag "$(TAG)") $(PUSH_ARGS)

.PHONY: pin
pin: publish $(if $(filter $(OCI_DIR)/%,$(DIGESTS)),package) ## Write manifests with digests in the place of tags into target/pinned [MANIFESTS=deploy/policies] [DIGESTS=file] [REGISTRY=host/path]
	@rm -rf $(TARGET)/pinned
	@$(PUBLISH) pin $(MANIFESTS) --digests "$(DIGESTS)" $(if $(REGISTRY),--registry "$(REGISTRY)") -o $(TARGET)/pinned

.PHONY: sbom
sbom: build publish ## Write an SBOM of each policy, SPDX in JSON, into target/sbom (installs cargo-sbom where it is missing)
	@command -v cargo-sbom >/dev/null || cargo install --locked --quiet cargo-sbom
	@PUBLISH=$(abspath $(PUBLISH)) tools/sbom $(TARGET)/sbom $(POLICIES)

.PHONY: releases
releases: ## Read the releases of LMCache and vLLM from PyPI and write the tables anew (Python 3.11)
	python3 tools/releases read
	python3 tools/releases write

.PHONY: tables
tables: ## Write the tables of the releases from what was read (skipped where Python 3.11 is missing)
	@tools/python-or-skip tables tools/releases write

.PHONY: generate
generate: build controller tables ## Write the generated files: Artifact Hub, worked cases, tables of the releases, CRDs, RBAC, reference, chart
	@for policy in $(POLICIES); do \
		mkdir -p artifacthub/$$policy; \
		$(HOST) scaffold artifacthub -m metadata/$$policy/metadata.yml -q metadata/$$policy/questions-ui.yml \
			--created-at "$$(cat artifacthub/created-at)" -o artifacthub/$$policy/artifacthub-pkg.yml; \
		cp policies/$$policy/README.md artifacthub/$$policy/README.md; \
	done
	@$(HOST) scaffold page docs/what-happens-to-my-pod.yaml --policy-dir $(POLICY_DIR) -o docs/what-happens-to-my-pod.md
	@$(CONTROLLER) crds LMCacheEngine > deploy/crds/lmcacheengines.yaml
	@$(CONTROLLER) crds CacheBlendEngine > deploy/crds/cacheblendengines.yaml
	@$(CONTROLLER) crds LMCacheCoordinator > deploy/crds/lmcachecoordinators.yaml
	@$(CONTROLLER) rbac > deploy/rbac/controller.yaml
	@$(CONTROLLER) rbac --users > deploy/rbac/users.yaml
	@$(CONTROLLER) rbac --adopt > deploy/adopt/rbac.yaml
	@$(CONTROLLER) reference > docs/reference.md
	@$(CHART) generate

.PHONY: check-generated
check-generated: generate ## Fail where a generated file differs from its generator
	@git diff --exit-code -- $(GENERATED) || { echo 'run `make generate` and commit the result' >&2; exit 1; }
	@test -z "$$(git status --porcelain -- $(GENERATED))" || { git status --short -- $(GENERATED); exit 1; }

.PHONY: sessions
sessions: build ## Record the host look-ups of the fixtures that the bats tests replay
	@tools/record-sessions

.PHONY: e2e
e2e: build controller publish ## Run the end-to-end tests on a real control plane (Go 1.26 or newer, once, or KUBEBUILDER_ASSETS; E2E_CLUSTER=CONTEXT: your cluster)
	cargo run --locked --quiet -p control-plane -- build
	@test -z "$(E2E_CLUSTER)" || trap 'cargo run --locked --quiet -p control-plane -- clean' EXIT; \
	export LMCACHE_CONTROLLER=$(abspath $(CONTROLLER)) POLICY_HOST=$(abspath $(HOST)) PUBLISH=$(abspath $(PUBLISH)); \
	cargo test --locked --no-fail-fast -p control-plane --test '*' -- --include-ignored

.PHONY: e2e-kwctl
e2e-kwctl: build ## Run e2e-tests/*.bats with kwctl (needs kwctl, bats and jq)
	bats e2e-tests

.PHONY: bench
bench: build ## Time the compiled policies, a fresh instance for every call, and the controller's rendering
	cargo bench --locked -p policy-tests
	cargo bench --locked -p lmcache-controller --bench '*'

.PHONY: bench-scale
bench-scale: build ## Measure 1, 100 and 1,000 engines on a real control plane, and Pods through the policies (Go 1.26 or newer; an hour; SCALE_ARGS)
	cargo build --locked --release -p lmcache-controller -p policy-host -p control-plane
	LMCACHE_CONTROLLER=$(abspath $(TARGET))/release/lmcache-controller POLICY_HOST=$(abspath $(TARGET))/release/policy-host \
		$(TARGET)/release/scale $(SCALE_ARGS)

.PHONY: fuzz
fuzz: build ## Send mutated input to the policies for FUZZ_SECONDS in all (60); FUZZ_POLICY, FUZZ_SEED
	cargo run --locked --quiet --release -p policy-tests --bin fuzz

.PHONY: install
install: ## Install the CRDs in the cluster of the current kubeconfig (FORCE=1: take fields from the Go operator or Helm)
	$(CLUSTER) install

.PHONY: uninstall
uninstall: ## Remove the CRDs from it, if nothing of these kinds is left (FORCE=1: with everything of them)
	$(CLUSTER) uninstall

.PHONY: deploy
deploy: ## Install CRDs, rights and the controller, with the image IMG
	$(CLUSTER) deploy

.PHONY: undeploy
undeploy: ## Remove the controller, its rights and its namespace; CRDs and engines stay
	$(CLUSTER) undeploy

.PHONY: dist
dist: ## Write dist/install.yaml and dist/policies.yaml with image IMG and modules from MODULES=registry/path into target/dist
	@mkdir -p $(TARGET)/dist
	$(CHART) install $(if $(IMG),--image="$(IMG)") > $(TARGET)/dist/install.yaml
	$(CHART) policies $(if $(MODULES),--registry="$(MODULES)") > $(TARGET)/dist/policies.yaml

.PHONY: chart
chart: ## Package the Helm chart into target/chart (needs helm)
	@command -v $(HELM) >/dev/null || { echo '`make chart` needs helm (https://helm.sh) in PATH, or HELM=...' >&2; exit 1; }
	$(HELM) package deploy/chart --destination $(TARGET)/chart

.PHONY: clean
clean: ## Remove everything that was built
	cargo clean
