#!/usr/bin/env bats
# The compiled policy injection-guard; see common.bash.

load common

setup() {
  policy injection-guard
}

accepted() {
  unchanged
  answer 'has("status") | not'
}

@test "metadata: the policy does not mutate, and names what it reads" {
  metadata 'mutating: false' LMCacheEngine CacheBlendEngine ConfigMap
  metadata 'backgroundAudit: false'
}

@test "a Pod without a key of ours is none of its business" {
  evaluate plain-pod
  accepted
  quiet
}

@test "a Pod that was wired and staged is accepted" {
  evaluate honest-pod-injection
  accepted
  quiet
}

@test "so is one of CacheBlend" {
  evaluate honest-cacheblend
  accepted
  quiet
}

@test "so is one that other webhooks changed" {
  evaluate webhook-proxy-in-front
  accepted
}

@test "so is one whose engine was changed since" {
  evaluate changed-port
  accepted
}

@test "a forged stamp is refused, and the message says what is missing" {
  evaluate forged-connection
  refused 422 'metadata.annotations[lmcache.ai/lmcache-injected]' 'no container carries LMCacheMPConnector'
}

@test "a forged payload stamp is refused" {
  evaluate forged-payload
  refused 422 lmcache-payload-stage PYTHONPATH
}

@test "a forged CacheBlend stamp is refused" {
  evaluate forged-cacheblend
  refused 422 CBKVConnector
}

@test "a stamp that names no engine is refused without a look-up" {
  evaluate forged-without-engine-annotation
  refused 422 lmcache.ai/lmcache-engine
}

@test "a stamp of an engine that is gone: accepted, with a warning" {
  look_up gone-engine
  accepted
  warns 'does not exist'
}

@test "an API server that does not answer: refused, try again" {
  look_up lookup-engine-unavailable
  refused 503 'try again'
}

@test "a key of ours that is changed: refused, each by name" {
  evaluate keys-several-at-once
  refused 422 lmcache.ai/lmcache-inject lmcache.ai/lmcache-engine
}

@test "other people's keys may change" {
  evaluate update-nothing-of-ours
  accepted
}

@test "a Pod that is being deleted passes" {
  evaluate update-deleted-keys-changed
  accepted
}

@test "sharedMemory: a warning by default" {
  look_up shm-shadowed
  accepted
  warns '"dshm"'
}

@test "sharedMemory: Deny refuses" {
  look_up shm-shadowed-denied
  refused 422 /dev/shm
}

@test "audit: a Pod that agrees with its engine" {
  look_up wiring-fine-payload
  accepted
  quiet
}

@test "audit: what changed is reported, old and new" {
  look_up wiring-port-changed
  refused 422 lmcache.mp.port 5555 6000 'recreate the Pod'
}

@test "audit: a Pod that no policy saw is reported" {
  evaluate wiring-not-injected
  refused 422 'neither a stamp nor a reason'
}

@test "settings: every complaint at once, by the keys as they were written" {
  invalid '{"checks": ["stamps"], "sharedMemory": "Off", "steps": []}' \
    'checks[0]: expected one of Stamps, Keys, Wiring' 'sharedMemory: expected one of Warn, Deny' 'steps: unknown setting'
}
