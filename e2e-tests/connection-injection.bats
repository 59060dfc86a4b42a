#!/usr/bin/env bats
# The compiled policy connection-injection in the real `kwctl`, over the requests, settings and recorded look-ups of
# fixtures/connection-injection.
#
#   bats e2e-tests                                       with kwctl
#   KWCTL=target/release/policy-host bats e2e-tests      with the embedded runner
#
# POLICIES_DIR: where the annotated policies are (default target/policies). Paths are relative to the repository.

bats_require_minimum_version 1.5.0

setup() {
  cd "$BATS_TEST_DIRNAME/.."
  KWCTL="${KWCTL:-kwctl}"
  POLICY="${POLICIES_DIR:-target/policies}/connection-injection.wasm"
  CASES=fixtures/connection-injection
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

# operations FILTER: FILTER holds for the list of JSON Patch operations; without a patch there is none and it fails.
operations() {
  answer '.patchType == "JSONPatch"'
  jq -er '.patch' <<<"$output" | base64 -d | jq -e "$1"
}

# unchanged: admitted, and no patch.
unchanged() {
  answer '.allowed and (has("patch") | not) and (has("patchType") | not)'
}

# skipped REASON: admitted, one annotation is all that is added, and a warning says so.
skipped() {
  answer '.allowed and (.warnings | length) > 0'
  operations "length == 1 and .[0].op == \"add\" and
    (.[0] == {op: \"add\", path: \"/metadata/annotations/lmcache.ai~1lmcache-skip-reason\", value: \"$1\"} or
     .[0] == {op: \"add\", path: \"/metadata/annotations\", value: {\"lmcache.ai/lmcache-skip-reason\": \"$1\"}})"
}

@test "metadata: the policy mutates, and names what it reads" {
  run --separate-stderr "$KWCTL" inspect -o yaml "$POLICY"
  echo "$output"
  [ "$status" -eq 0 ]
  grep -Eq '^mutating: true$' <<<"$output"
  grep -Eq '^backgroundAudit: false$' <<<"$output"
  grep -q 'kubernetes/get_resource' <<<"$output"
  for kind in LMCacheEngine ConfigMap Namespace; do grep -Eq "kind: $kind\$" <<<"$output"; done
}

@test "a Pod that did not opt in is accepted unchanged, without a look-up" {
  evaluate not-opted-in
  unchanged
  answer '.warnings == null'
}

@test "a Deployment is accepted unchanged, although it carries the label" {
  evaluate kind-deployment
  unchanged
}

@test "an opted-in Pod gets the connection, host IPC, the hash seed and the stamp" {
  look_up wired-with-host-ipc
  answer '.allowed and .warnings == null'
  operations 'length == 5 and all(.op == "add")'
  operations 'any(.path == "/spec/hostIPC" and .value == true)'
  operations 'any(.path == "/metadata/annotations/lmcache.ai~1lmcache-injected" and .value == "true")'
  operations 'any(.path == "/spec/containers/0/env" and .value == [{name: "PYTHONHASHSEED", value: "0"}])'
  operations 'any(.path == "/spec/containers/0/args/2" and .value == "--kv-transfer-config")'
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
  operations 'any(.path == "/spec/volumes" and .value == [{name: "lmcache-dev-shm", emptyDir: {medium: "Memory"}}])'
  operations 'all(.path != "/spec/hostIPC")'
}

@test "a mesh proxy in front is never the target" {
  look_up mesh-proxy-first
  operations 'any(.path == "/spec/containers/1/args/2" and .value == "--kv-transfer-config")'
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
  operations 'any(.path == "/metadata/annotations/lmcache.ai~1lmcache-injected" and .value == "true")'
  operations 'any(.path == "/metadata/annotations/lmcache.ai~1lmcache-skip-reason" and .value == "kv-transfer-config-present")'
}

@test "another connector of the user: skipped whole" {
  look_up own-config-other-connector
  skipped kv-transfer-config-present
}

@test "the label without the annotation: skipped without a look-up" {
  evaluate engine-annotation-missing
  skipped engine-annotation-missing
  answer '.warnings[0] | contains("lmcache.ai/lmcache-engine")'
}

@test "optIn: Annotation wires without the label" {
  look_up opt-in-by-annotation
  operations 'any(.path == "/metadata/annotations/lmcache.ai~1lmcache-injected" and .value == "true")'
}

@test "a missing engine: admitted with the reason" {
  look_up engine-and-connection-absent
  skipped engine-not-found
}

@test "a missing engine with onMissingEngine: Deny: refused, to be tried again" {
  look_up engine-missing-denied-by-setting
  answer '.allowed == false and .status.code == 404'
  answer '.status.message | startswith("engine-not-found: ") and contains("cache-a")'
  answer 'has("patch") | not'
}

@test "an API server that does not answer: admitted with the reason" {
  look_up lookup-engine-unavailable
  skipped lookup-unavailable
}

@test "no grant to read: admitted, and the warning names the grant" {
  evaluate wired-with-host-ipc
  skipped lookup-unavailable
  answer '.warnings[0] | contains("contextAwareResources")'
}

@test "a namespace that forbids host IPC: skipped instead of refused later" {
  look_up pod-security-baseline
  skipped pod-security-forbids-host-ipc
}

@test "settings: every complaint at once, by the keys as they were written" {
  run "$KWCTL" run --request-path "$CASES/not-opted-in/request.json" \
    --settings-json '{"optIn": "label", "podsecurity": "Skip", "allowedEngineNamespaces": ["Up"]}' "$POLICY"
  echo "$output"
  [ "$status" -eq 1 ]
  [[ "$output" == *"Provided settings are not valid"* ]]
  [[ "$output" == *"optIn: expected one of Label, Annotation"* ]]
  [[ "$output" == *"podsecurity: unknown setting"* ]]
  [[ "$output" == *"allowedEngineNamespaces[0]: expected the name of a namespace"* ]]
}
