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

@test "isolated IPC: the release in the image cannot do it, and the message names the first that can" {
  evaluate isolated-0-5-4
  faults spec.isolatedIPC
  refused 422 0.5.4 0.5.5
}

@test "ipcDefault: the same where the installation asks for it" {
  evaluate isolated-by-install-default
  faults spec.isolatedIPC
}

@test "a second tier that would be stored in plain is refused" {
  evaluate serde-aesgcm-ignored-0-4-4
  faults spec.l2Backend.serde.aesgcm
  refused 422 0.4.4 0.5.3
}

@test "an image from before the command is refused at its tag" {
  evaluate release-0-4-2-has-no-server-command
  faults spec.image.tag
  refused 422 0.4.3
}

@test "the field wins over the tag" {
  look_up release-field-wins-over-tag
  accepted
  quiet
}

@test "raw adapters: their type and the keys that they need" {
  evaluate adapter-valkey-too-new
  faults spec.l2Backend.raw.type
  evaluate adapter-fs-key-missing
  faults spec.l2Backend.raw.config.base_path
}

@test "coordinator: an image without the command, a flag that the release lacks" {
  evaluate coordinator-0-4-6
  faults spec.image.tag
  evaluate coordinator-chunk-size-0-4-7
  faults spec.blendChunkSize
}

@test "extraArgs: what repeats a field is refused, also shortened" {
  evaluate extra-args-repeat-by-prefix
  faults 'spec.extraArgs[0]'
  refused 422 spec.l1.sizeGB
}

@test "extraArgs: an unknown flag gets a warning" {
  look_up extra-args-unknown-flag
  accepted
  warns --chunksize
}

@test "a password that /env would show gets a warning" {
  look_up env-shows-password
  accepted
  warns /env
}

@test "a release newer than the known ones gets a warning" {
  look_up release-newer-than-known-warns
  accepted
  warns 0.5.7
}

@test "an older image makes an untouched field a new fault" {
  evaluate update-older-tag-makes-serde-impossible
  faults spec.l2Backend.serde.aesgcm
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
  invalid '{"requirePinnedImages": "yes", "allowedrepositories": [], "ipcDefault": "isolated"}' \
    'requirePinnedImages: expected true or false' 'allowedrepositories: unknown setting' 'ipcDefault: '
}
