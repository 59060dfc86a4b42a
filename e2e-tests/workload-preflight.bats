#!/usr/bin/env bats
# The compiled policy workload-preflight; see common.bash.

load common

setup() {
  policy workload-preflight
}

# tells TEXT...: accepted, with these warnings.
tells() {
  unchanged
  warns "$@"
}

@test "metadata: the policy does not mutate, and names what it reads" {
  metadata 'mutating: false' LMCacheEngine CacheBlendEngine ConfigMap Namespace
  metadata 'backgroundAudit: false'
}

@test "a Deployment without a key of ours is none of its business" {
  evaluate not-opted-in
  unchanged
  quiet
}

@test "a Deployment whose Pods will be wired: not a word" {
  look_up deployment
  unchanged
  quiet
}

@test "a missing engine" {
  look_up engine-missing
  tells 'LMCacheEngine team-a/cache-a does not exist: Pods will not be wired'
}

@test "a missing engine under onMissingEngine: Deny: the Deployment is accepted, its Pods will not be" {
  look_up engine-missing-denied-by-setting
  tells 'Pods will be refused until it does'
}

@test "a shell as command" {
  look_up command-shell
  tells 'Pods will not be wired'
}

@test "an opt-in on the Deployment instead of its template" {
  evaluate opt-in-on-the-deployment
  tells 'move it to spec.template.metadata'
}

@test "an opt-in on the CronJob instead of its template" {
  evaluate opt-in-on-the-cron-job
  tells 'move it to spec.jobTemplate.spec.template.metadata'
}

@test "a stamp in the template" {
  look_up stamp-in-the-template
  tells 'set by the policies on Pods'
}

@test "CacheBlend: what is replaced is quoted" {
  look_up cacheblend-replaces-a-flag
  tells --pipeline-parallel-size
}

@test "a LeaderWorkerSet: each warning names its template" {
  look_up leader-worker-set-in-shells
  tells 'leaderTemplate: ' 'workerTemplate: '
}

@test "scaling is none of its business" {
  evaluate update-scale
  unchanged
  quiet
}

@test "no grant to read: accepted, and the warning names the grant" {
  evaluate engine-missing
  tells contextAwareResources
}

@test "settings: every complaint at once, by the keys as they were written" {
  invalid '{"steps": ["all"], "podSecurity": "Deny"}' 'steps[0]: expected' 'podSecurity: expected one of Skip, Warn, Off'
}
