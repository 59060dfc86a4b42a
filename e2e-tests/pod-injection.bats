#!/usr/bin/env bats
# The compiled policy pod-injection; see common.bash.

load common

setup() {
  policy pod-injection
}

skipped() {
  noted "lmcache.ai/lmcache-skip-reason=$1"
}

@test "metadata: the policy mutates, and names what it reads" {
  metadata 'mutating: true' LMCacheEngine CacheBlendEngine ConfigMap Namespace
  metadata 'backgroundAudit: false'
}

@test "a Pod that did not opt in is accepted unchanged, without a look-up" {
  evaluate not-opted-in
  unchanged
  quiet
}

@test "a Deployment is accepted unchanged, although it carries the label" {
  evaluate kind-deployment
  unchanged
}

@test "connection and payload in one step, with both stamps" {
  look_up wired-and-staged
  answer .allowed
  quiet
  annotates lmcache.ai/lmcache-injected true
  annotates lmcache.ai/lmcache-payload-staged true
  adds /spec/hostIPC true
  appends_args --kv-transfer-config
  operations '[.[] | .value | .. | objects] |
    any(.name? == "lmcache-payload-stage") and any(. == {name: "PYTHONPATH", value: "/lmcache-payload"})'
}

@test "its own output is left as it is" {
  look_up own-output
  unchanged
}

@test "an engine without payload: the connection alone" {
  look_up wired-without-payload
  annotates lmcache.ai/lmcache-injected true
  operations 'all(.path | test("initContainers|volumes") | not)'
}

@test "a payload that cannot be staged: nothing is wired, two reasons say why" {
  look_up weakness-36-name-only-idempotency
  noted lmcache.ai/lmcache-skip-reason=payload-not-staged lmcache.ai/lmcache-payload-skip-reason=volume-name-taken
}

@test "CacheBlend: plugin, connection and arguments" {
  look_up cacheblend
  annotates lmcache.ai/cacheblend-injected true
  appends_args --attention-backend CUSTOM --kv-transfer-config --no-enable-chunked-prefill --block-size 64 \
    --pipeline-parallel-size 1 --no-async-scheduling --enforce-eager
}

@test "both opt-ins: CacheBlend wires, LMCache says that it stands back" {
  look_up both-systems
  annotates lmcache.ai/cacheblend-injected true
  annotates lmcache.ai/lmcache-skip-reason cacheblend-takes-precedence
  operations '[.[].value | strings | select(. == "--kv-transfer-config")] | length == 1'
}

@test "steps without CacheBlend: its Pods are left alone" {
  evaluate steps-without-cacheblend
  unchanged
  quiet
}

@test "a Pod of vLLM production-stack: the command line stands in command, the flag goes into args" {
  look_up shape-production-stack
  annotates lmcache.ai/lmcache-injected true
  operations 'any(.path | test("/args"))'
  operations 'all(.path | test("/command") | not)'
}

@test "an llm-d Pod with a connector of its own: skipped whole" {
  look_up shape-llm-d-own-nixl
  skipped kv-transfer-config-present
}

@test "a leader that starts Ray in a shell: skipped with command-override" {
  look_up field-report-24-leader-in-shell
  skipped command-override
}

@test "a missing engine with onMissingEngine: Deny: refused, to be tried again" {
  look_up engine-missing-denied
  refused 404 'engine-not-found: ' cache-a
}

@test "no grant to read: admitted, and the warning names the grant" {
  evaluate wired-and-staged
  skipped lookup-unavailable
  warns contextAwareResources
}

@test "settings: every complaint at once, by the keys as they were written" {
  invalid '{"steps": ["payload"], "cacheblendArguments": "full", "optin": "Label"}' \
    'steps[0]: expected' 'cacheblendArguments: expected one of Full, Minimal' 'optin: unknown setting'
}
