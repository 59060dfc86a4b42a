#!/usr/bin/env bats
# The compiled policy cacheblend-injection; see common.bash.

load common

setup() {
  policy cacheblend-injection
}

skipped() {
  noted "lmcache.ai/cacheblend-skip-reason=$1"
}

@test "metadata: the policy mutates, and names what it reads" {
  metadata 'mutating: true' CacheBlendEngine ConfigMap Namespace
  metadata 'backgroundAudit: false'
}

@test "a Pod of LMCache alone is accepted unchanged, without a look-up" {
  evaluate lmcache-only
  unchanged
  quiet
}

@test "a Deployment is accepted unchanged, although it carries the label" {
  evaluate kind-deployment
  unchanged
}

@test "an opted-in Pod gets plugin, host IPC, the connection and the arguments" {
  look_up table-c01-base
  answer .allowed
  quiet
  annotates lmcache.ai/cacheblend-injected true
  adds /spec/hostIPC true
  appends_args --attention-backend CUSTOM --kv-transfer-config --no-enable-chunked-prefill --block-size 64 \
    --pipeline-parallel-size 1 --no-async-scheduling --enforce-eager
  operations '[.[] | .value | .. | objects] |
    any(.name? == "cb-plugin-stage" and .env == [{name: "SHARED_DIR", value: "/cb-plugin"}]) and
    any(. == {name: "cb-plugin", emptyDir: {}}) and any(. == {name: "PYTHONPATH", value: "/cb-plugin"})'
  operations 'all(.path | test("PYTHONHASHSEED") | not)'
}

@test "its own output is left as it is" {
  look_up own-output
  unchanged
}

@test "cudagraph full_decode_only: graphs instead of eager" {
  look_up table-c16-full-decode-only
  appends_args --compilation-config '{"cudagraph_mode":"FULL_DECODE_ONLY"}'
  operations 'all(.value != "--enforce-eager")'
}

@test "the user's values give way, each quoted in a warning" {
  look_up flags-valued-replaced
  warns '--attention-backend FLASH_ATTN' '--block-size 16' '--pipeline-parallel-size 2'
}

@test "cacheblendArguments: Minimal leaves attention backend, block size and scheduling to the user" {
  look_up minimal
  appends_args --kv-transfer-config --no-enable-chunked-prefill --pipeline-parallel-size 1 --enforce-eager
  operations 'all(.value != "--attention-backend" and .value != "--block-size" and .value != "--no-async-scheduling")'
}

@test "a decoder gets the connection alone" {
  look_up pd-decoder
  annotates lmcache.ai/cacheblend-injected true
  operations '[.[].path | select(test("initContainers|volumes|hostIPC"))] == []'
}

@test "an engine without payload: skipped, and no host IPC either" {
  look_up weakness-31-decided-before-mutating
  skipped payload-image-unset
}

@test "a name that is taken: skipped" {
  look_up weakness-36-volume-name-taken
  skipped payload-not-staged
}

@test "another connector of the user: skipped whole" {
  look_up table-c11-other-connector
  skipped kv-transfer-config-present
}

@test "a shell as command: skipped with command-override" {
  look_up table-c08-command-override
  skipped command-override
}

@test "a missing engine, also where there is a ConfigMap: admitted with the reason" {
  look_up connection-without-engine
  skipped engine-not-found
}

@test "a missing engine with onMissingEngine: Deny: refused, to be tried again" {
  look_up engine-missing-denied-by-setting
  refused 404 'engine-not-found: ' blend-a
}

@test "an engine of another namespace, without the setting" {
  evaluate weakness-41-no-consent
  skipped cross-namespace-forbidden
}

@test "a namespace that forbids host IPC: skipped instead of refused later" {
  look_up weakness-47-baseline
  skipped pod-security-forbids-host-ipc
}

@test "settings: every complaint at once, by the keys as they were written" {
  invalid '{"cacheblendArguments": "All", "steps": []}' \
    'cacheblendArguments: expected one of Full, Minimal' 'steps: unknown setting'
}
