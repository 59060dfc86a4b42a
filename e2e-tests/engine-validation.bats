#!/usr/bin/env bats
# The compiled policy engine-validation; see common.bash.

load common

setup() {
  policy engine-validation
}

# faults PATH...: refused with 422, and the message has one line for each path, in this order.
faults() {
  refused 422
  local paths
  paths="$(jq -r '.status.message' <<<"$output" | sed 's/: .*//')"
  [ "$paths" = "$(printf '%s\n' "$@")" ]
}

accepted() {
  unchanged
  answer 'has("status") | not'
}

@test "metadata: the policy does not mutate, and names what it reads" {
  metadata 'mutating: false' LMCacheEngine CacheBlendEngine LMCacheCoordinator
}

@test "a good engine is accepted without a word" {
  look_up engine-minimal
  accepted
  quiet
}

@test "every fault is named at once, in a stable order" {
  look_up engine-many-faults
  faults spec.l1.sizeGB spec.eviction.policy spec.eviction.triggerWatermark spec.eviction.evictionRatio \
    spec.server.port spec.l2Backend spec.l2Backend.resp.host spec.l2Backend.resp.port \
    spec.l2Backend.resp.authSecretRef.name spec.l2Backend.raw.type spec.coordinator \
    spec.coordinator.heartbeatInterval spec.coordinator.l2EventFlushInterval
}

@test "a fault says what was found and what was expected" {
  look_up quantity-unknown-unit
  faults 'spec.resourceOverrides.limits.memory'
  refused 422 64GB 'must be a quantity'
}

@test "CacheBlend: the chunk size is fixed" {
  look_up cacheblend-chunk-size-512
  faults spec.server.chunkSize
}

@test "coordinator: every fault" {
  look_up coordinator-many-faults
  faults spec.port spec.replicas spec.instanceTimeout spec.healthCheckInterval spec.evictionCheckInterval \
    spec.evictionRatio spec.triggerWatermark spec.blendChunkSize spec.blendProbeStride
}

@test "two kinds of one name: refused" {
  look_up clash-lmcacheengine-with-cacheblendengine
  faults metadata.name
  refused 422 CacheBlendEngine
}

@test "a look-up that fails refuses nothing" {
  evaluate engine-minimal
  accepted
}

@test "a floating image gets a warning" {
  look_up image-default
  accepted
  warns latest
}

@test "requirePinnedImages refuses it" {
  look_up pinned-latest
  faults spec.image.tag
}

@test "allowedRepositories holds for payloads too" {
  look_up repositories-payload
  faults spec.injection.payloadImage.repository
}

@test "an update is refused for new faults only" {
  evaluate update-new-fault-beside-old
  faults spec.server.port
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
  invalid '{"requirePinnedImages": "yes", "allowedrepositories": []}' \
    'requirePinnedImages: expected true or false' 'allowedrepositories: unknown setting'
}
