#!/usr/bin/env bats
# The compiled policy payload-staging; see common.bash.

load common

setup() {
  policy payload-staging
}

# not_staged REASON: admitted, and the reason is all that is added.
not_staged() {
  noted "lmcache.ai/lmcache-payload-skip-reason=$1"
}

@test "metadata: the policy mutates, and names what it reads" {
  metadata 'mutating: true' LMCacheEngine ConfigMap Namespace
  metadata 'backgroundAudit: false'
}

@test "a Pod that did not opt in is accepted unchanged, without a look-up" {
  evaluate not-opted-in
  unchanged
  quiet
}

@test "a wired Pod gets volume, init container, mount, PYTHONPATH and the stamp" {
  look_up after-connection-injection
  answer .allowed
  quiet
  annotates lmcache.ai/lmcache-payload-staged true
  operations 'all(.path | test("/args") | not)'
  operations '[.[] | .value | .. | objects | select(.name? == "lmcache-payload-stage")] | length == 1 and
    (.[0] | .env == [{name: "SHARED_DIR", value: "/lmcache-payload"}] and .resources.requests == .resources.limits
      and .securityContext.capabilities == {drop: ["ALL"]} and (has("command") | not) and (has("args") | not))'
  operations '[.[] | .value | .. | objects] |
    any(. == {name: "lmcache-payload", emptyDir: {}}) and
    any(. == {name: "lmcache-payload", mountPath: "/lmcache-payload", readOnly: true}) and
    any(. == {name: "PYTHONPATH", value: "/lmcache-payload"})'
}

@test "its own output is left as it is" {
  look_up own-output
  unchanged
}

@test "what the Go operator staged counts" {
  look_up staged-by-the-go-operator
  operations 'all(.path | startswith("/spec") | not)'
}

@test "an engine without payload: one look-up, nothing to do" {
  look_up table-l11-engine-without-injection
  unchanged
  quiet
}

@test "a volume of the user's has the name: nothing is staged" {
  look_up weakness-36-name-only-idempotency
  not_staged volume-name-taken
}

@test "PYTHONPATH from elsewhere is not thrown away" {
  look_up weakness-37-python-path-from-config-map
  not_staged python-path-not-literal
}

@test "a payload image that is none" {
  look_up weakness-46-empty-payload-image
  not_staged payload-image-unset
}

@test "a Pod that is not wired for another reason: only the warning" {
  look_up not-wired-command-override
  unchanged
  answer '(.warnings | length) == 1'
}

@test "a look-up that fails under onUnavailable: Deny: refused, to be tried again" {
  look_up lookup-engine-unavailable-denied
  refused 503 'lookup-unavailable: '
}

@test "settings: every complaint at once, by the keys as they were written" {
  invalid '{"optIn": "label", "steps": [], "cacheblendArguments": "Full"}' \
    'optIn: expected one of Label, Annotation' 'steps: unknown setting' 'cacheblendArguments: unknown setting'
}
