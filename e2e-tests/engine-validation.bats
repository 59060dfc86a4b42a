#!/usr/bin/env bats
# The compiled policy engine-validation in the real `kwctl`, over the requests, settings and recorded look-ups of
# fixtures/engine-validation.
#
#   bats e2e-tests                                       with kwctl
#   KWCTL=target/release/policy-host bats e2e-tests      with the embedded runner
#
# POLICIES_DIR: where the annotated policies are (default target/policies). Paths are relative to the repository.

bats_require_minimum_version 1.5.0

setup() {
  cd "$BATS_TEST_DIRNAME/.."
  KWCTL="${KWCTL:-kwctl}"
  POLICY="${POLICIES_DIR:-target/policies}/engine-validation.wasm"
  CASES=fixtures/engine-validation
}

# evaluate CASE [FLAG...]: the answer goes to $output, one line of JSON; logs go to $stderr.
evaluate() {
  local case="$CASES/$1" flags=()
  shift
  if [ -f "$case/settings.yaml" ]; then flags+=(--settings-path "$case/settings.yaml"); fi
  if [ -f "$case/session.yml" ]; then flags+=(--replay-host-capabilities-interactions "$case/session.yml"); fi
  run --separate-stderr "$KWCTL" run --request-path "$case/request.json" "${flags[@]}" "$@" "$POLICY"
  echo "$output"
  echo "$stderr"
  [ "$status" -eq 0 ]
}

# look_up CASE: the same with the grant to read what the metadata names.
look_up() {
  [ -f "$CASES/$1/session.yml" ] || { echo "$1/session.yml is not recorded: make sessions"; return 1; }
  evaluate "$1" --allow-context-aware
}

# answer FILTER: jq's FILTER holds for the answer.
answer() {
  jq -e "$1" <<<"$output"
}

# refused PATH...: refused with 422, and the message has one line for each path, in this order.
refused() {
  answer '.allowed == false and .status.code == 422 and (has("patch") | not)'
  local paths
  paths="$(jq -r '.status.message' <<<"$output" | sed 's/: .*//')"
  [ "$paths" = "$(printf '%s\n' "$@")" ]
}

accepted() {
  answer '.allowed and (has("patch") | not) and (has("status") | not)'
}

@test "metadata: the policy does not mutate, and names what it reads" {
  run --separate-stderr "$KWCTL" inspect -o yaml "$POLICY"
  echo "$output"
  [ "$status" -eq 0 ]
  grep -Eq '^mutating: false$' <<<"$output"
  grep -q 'kubernetes/get_resource' <<<"$output"
  for kind in LMCacheEngine CacheBlendEngine LMCacheCoordinator; do grep -Eq "kind: $kind\$" <<<"$output"; done
}

@test "a good engine is accepted without a word" {
  look_up engine-minimal
  accepted
  answer '.warnings == null'
}

@test "every fault is named at once, in a stable order" {
  look_up engine-many-faults
  refused spec.l1.sizeGB spec.eviction.policy spec.eviction.triggerWatermark spec.eviction.evictionRatio \
    spec.server.port spec.l2Backend spec.l2Backend.resp.host spec.l2Backend.resp.port \
    spec.l2Backend.resp.authSecretRef.name spec.l2Backend.raw.type spec.coordinator \
    spec.coordinator.heartbeatInterval spec.coordinator.l2EventFlushInterval
}

@test "a fault says what was found and what was expected" {
  look_up quantity-unknown-unit
  refused 'spec.resourceOverrides.limits.memory'
  answer '.status.message | contains("64GB") and contains("must be a quantity")'
}

@test "CacheBlend: the chunk size is fixed" {
  look_up cacheblend-chunk-size-512
  refused spec.server.chunkSize
}

@test "coordinator: every fault" {
  look_up coordinator-many-faults
  refused spec.port spec.replicas spec.instanceTimeout spec.healthCheckInterval spec.evictionCheckInterval \
    spec.evictionRatio spec.triggerWatermark spec.blendChunkSize spec.blendProbeStride
}

@test "two kinds of one name: refused" {
  look_up clash-lmcacheengine-with-cacheblendengine
  refused metadata.name
  answer '.status.message | contains("CacheBlendEngine")'
}

@test "a look-up that fails refuses nothing" {
  evaluate engine-minimal
  accepted
}

@test "a floating image gets a warning" {
  look_up image-default
  accepted
  answer '.warnings | length == 1 and (.[0] | contains("latest"))'
}

@test "requirePinnedImages refuses it" {
  look_up pinned-latest
  refused spec.image.tag
}

@test "allowedRepositories holds for payloads too" {
  look_up repositories-payload
  refused spec.injection.payloadImage.repository
}

@test "an update is refused for new faults only" {
  evaluate update-new-fault-beside-old
  refused spec.server.port
}

@test "a finalizer can be removed from a faulty object" {
  evaluate update-finalizer-of-a-faulty-object
  accepted
}

@test "an object that is being deleted passes" {
  evaluate update-while-deleted
  accepted
}

@test "other kinds are none of its business" {
  evaluate kind-pod
  accepted
}

@test "settings: every complaint at once, by the keys as they were written" {
  run "$KWCTL" run --request-path "$CASES/engine-minimal/request.json" \
    --settings-json '{"requirePinnedImages": "yes", "allowedrepositories": []}' "$POLICY"
  echo "$output"
  [ "$status" -eq 1 ]
  [[ "$output" == *"Provided settings are not valid"* ]]
  [[ "$output" == *"requirePinnedImages: expected true or false"* ]]
  [[ "$output" == *"allowedrepositories: unknown setting"* ]]
}
