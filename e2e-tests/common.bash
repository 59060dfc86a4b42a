# What the *.bats files share: they run compiled policies in the real `kwctl`, over the requests, settings and recorded
# look-ups of fixtures/<policy>.
#
#   bats e2e-tests                                       with kwctl
#   KWCTL=target/debug/policy-host bats e2e-tests        with the embedded runner
#
# POLICIES_DIR: where the annotated policies are (default target/policies). Paths are relative to the repository.

bats_require_minimum_version 1.5.0

# policy NAME: the policy that the tests of a file are about.
policy() {
  cd "$BATS_TEST_DIRNAME/.."
  KWCTL="${KWCTL:-kwctl}"
  POLICY="${POLICIES_DIR:-target/policies}/$1.wasm"
  CASES="fixtures/$1"
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

# adds PATH VALUE: the patch adds VALUE, a piece of JSON, at PATH.
adds() {
  operations "any(.op == \"add\" and .path == \"$1\" and .value == $2)"
}

# annotates KEY VALUE: the patch adds or replaces this annotation, alone or with the whole map.
annotates() {
  operations "any(.value == \"$2\" and .path == \"/metadata/annotations/${1//\//~1}\") or
    any(.path == \"/metadata/annotations\" and .value[\"$1\"] == \"$2\")"
}

# appends_args ARG...: the patch appends these words, in this order, to the args of the first container, among others.
appends_args() {
  local wanted
  wanted="$(printf '%s\n' "$@" | jq -R . | jq -cs .)"
  operations "[.[] | select(.op == \"add\" and (.path | test(\"^/spec/containers/0/args/\"))) | .value] as \$added
    | [\$added[] | select(. as \$word | $wanted | index(\$word))] == $wanted"
}

# unchanged: admitted, and no patch.
unchanged() {
  answer '.allowed and (has("patch") | not) and (has("patchType") | not)'
}

# quiet: no warning.
quiet() {
  answer '.warnings == null'
}

# warns TEXT...: as many warnings, each with its text.
warns() {
  answer "(.warnings | length) == $#"
  local index=0 text
  for text in "$@"; do
    jq -e --arg text "$text" --argjson index "$index" '.warnings[$index] | contains($text)' <<<"$output"
    index=$((index + 1))
  done
}

# noted KEY=VALUE...: admitted, these annotations are all that is added, and a warning says so.
noted() {
  answer '.allowed and (.warnings | length) > 0'
  operations "all(.op == \"add\" and (.path | test(\"^/metadata/annotations\")))"
  local note
  for note in "$@"; do annotates "${note%%=*}" "${note#*=}"; done
  operations "([.[] | if .path == \"/metadata/annotations\" then (.value | length) else 1 end] | add) == $#"
}

# refused CODE TEXT...: refused with this status, and the message has these texts.
refused() {
  answer ".allowed == false and .status.code == $1 and (has(\"patch\") | not)"
  shift
  local text
  for text in "$@"; do
    jq -e --arg text "$text" '.status.message | contains($text)' <<<"$output"
  done
}

# metadata LINE KIND...: the annotated module has this line, and reads these kinds.
metadata() {
  run --separate-stderr "$KWCTL" inspect -o yaml "$POLICY"
  echo "$output"
  [ "$status" -eq 0 ]
  local line="$1" kind
  shift
  grep -Eq "^$line\$" <<<"$output"
  grep -q 'kubernetes/get_resource' <<<"$output"
  for kind in "$@"; do grep -Eq "kind: $kind\$" <<<"$output"; done
}

# invalid JSON TEXT...: these settings are refused when the policy is loaded, with all these complaints.
invalid() {
  local case settings="$1" text
  shift
  for case in "$CASES"/*/; do break; done
  run "$KWCTL" run --request-path "$case/request.json" --settings-json "$settings" "$POLICY"
  echo "$output"
  [ "$status" -eq 1 ]
  [[ "$output" == *"Provided settings are not valid"* ]]
  for text in "$@"; do [[ "$output" == *"$text"* ]]; done
}
