#!/usr/bin/env bats
# The compiled policy connection-injection; see common.bash.

load common

setup() {
  policy connection-injection
}

skipped() {
  noted "lmcache.ai/lmcache-skip-reason=$1"
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

@test "a Deployment is accepted unchanged, although it carries the label" {
  evaluate kind-deployment
  unchanged
}

@test "an opted-in Pod gets the connection, host IPC, the hash seed and the stamp" {
  look_up wired-with-host-ipc
  answer '.allowed'
  quiet
  operations 'length == 5 and all(.op == "add")'
  adds /spec/hostIPC true
  annotates lmcache.ai/lmcache-injected true
  adds /spec/containers/0/env '[{name: "PYTHONHASHSEED", value: "0"}]'
  adds /spec/containers/0/args/2 '"--kv-transfer-config"'
  operations '.[] | select(.path == "/spec/containers/0/args/3") | .value | fromjson
    | .kv_connector == "LMCacheMPConnector"
      and .kv_connector_extra_config["lmcache.mp.host"] == "tcp://cache-a.team-a.svc.cluster.local"
      and .kv_connector_extra_config["lmcache.mp.port"] == "5555"'
}

@test "its own output is left as it is" {
  look_up own-output
  unchanged
}

@test "the IPC mode on the connection ConfigMap wins: isolated, no host IPC" {
  look_up connection-says-isolated
  adds /spec/volumes '[{name: "lmcache-dev-shm", emptyDir: {medium: "Memory"}}]'
  operations 'all(.path != "/spec/hostIPC")'
}

@test "a mesh proxy in front is never the target" {
  look_up mesh-proxy-first
  adds /spec/containers/1/args/2 '"--kv-transfer-config"'
  operations 'all(.path | startswith("/spec/containers/0") | not)'
}

@test "a shell as command: skipped with command-override" {
  look_up command-shell
  skipped command-override
}

@test "the user's own use of our connector is kept, everything else is wired" {
  look_up own-connector-two-tokens
  answer .allowed
  operations 'all(.path | test("/args") | not)'
  annotates lmcache.ai/lmcache-injected true
  annotates lmcache.ai/lmcache-skip-reason kv-transfer-config-present
}

@test "another connector of the user: skipped whole" {
  look_up own-config-other-connector
  skipped kv-transfer-config-present
}

@test "the label without the annotation: skipped without a look-up" {
  evaluate engine-annotation-missing
  skipped engine-annotation-missing
  warns lmcache.ai/lmcache-engine
}

@test "optIn: Annotation wires without the label" {
  look_up opt-in-by-annotation
  annotates lmcache.ai/lmcache-injected true
}

@test "a missing engine: admitted with the reason" {
  look_up engine-and-connection-absent
  skipped engine-not-found
}

@test "a missing engine with onMissingEngine: Deny: refused, to be tried again" {
  look_up engine-missing-denied-by-setting
  refused 404 'engine-not-found: ' cache-a
}

@test "an API server that does not answer: admitted with the reason" {
  look_up lookup-engine-unavailable
  skipped lookup-unavailable
}

@test "no grant to read: admitted, and the warning names the grant" {
  evaluate wired-with-host-ipc
  skipped lookup-unavailable
  warns contextAwareResources
}

@test "a namespace that forbids host IPC: skipped instead of refused later" {
  look_up pod-security-baseline
  skipped pod-security-forbids-host-ipc
}

@test "settings: every complaint at once, by the keys as they were written" {
  invalid '{"optIn": "label", "podsecurity": "Skip", "allowedEngineNamespaces": ["Up"]}' \
    'optIn: expected one of Label, Annotation' 'podsecurity: unknown setting' \
    'allowedEngineNamespaces[0]: expected the name of a namespace'
}
