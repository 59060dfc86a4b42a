//! `policy-host run`: inputs, settings, output, exit codes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "helpers of tests"
)]

use crate::common::{guest, pod_request, policy_host, policy_host_with, run, run_policy, scratch, text, write};
use policy_host::{AdmissionRequest, EvaluationContext, Policy};
use rstest::rstest;
use serde_json::{Value, json};

#[test]
fn prints_one_line_of_json_and_exits_with_zero() {
    let accepted = run(json!({}), &[]);
    assert_eq!(accepted.code, 0);
    assert_eq!(
        accepted.stdout,
        "{\"uid\":\"u1\",\"allowed\":true,\"auditAnnotations\":null,\"warnings\":null}\n"
    );
    let refused = run(
        json!({"do": "reject", "message": "no", "code": 422, "auditAnnotations": {"k": "v"}}),
        &[],
    );
    assert_eq!(refused.code, 0);
    assert_eq!(
        refused.stdout,
        "{\"uid\":\"u1\",\"allowed\":false,\"status\":{\"message\":\"no\",\"code\":422},\"auditAnnotations\":{\"k\":\"v\"},\"warnings\":null}\n"
    );
}

#[test]
fn a_mutation_becomes_a_base64_json_patch() {
    let response = run(json!({"do": "mutate"}), &[]).response();
    assert_eq!(response["patchType"], "JSONPatch");
    // [{"op":"add","path":"/metadata/annotations","value":{"guest":"was here"}}]
    let patch = "W3sib3AiOiJhZGQiLCJwYXRoIjoiL21ldGFkYXRhL2Fubm90YXRpb25zIiwidmFsdWUiOnsiZ3Vlc3QiOiJ3YXMgaGVyZSJ9fV0=";
    assert_eq!(response["patch"], patch);
    let unchanged = run(json!({"do": "same"}), &[]).response();
    assert_eq!((unchanged.get("patch"), unchanged.get("patchType")), (None, None));
}

#[rstest]
#[case("error", "internal server error: Guest call failure: guest error")]
#[case(
    "trap",
    "internal server error: Guest call failure: error while executing at wasm backtrace:"
)]
#[case("garbled", "internal server error: cannot deserialize policy validation response: ")]
fn a_failing_guest_refuses_with_500(#[case] behaviour: &str, #[case] message: &str) {
    let response = run(json!({"do": behaviour}), &[]).response();
    assert_eq!(
        (&response["allowed"], &response["status"]["code"]),
        (&json!(false), &json!(500))
    );
    let found = response["status"]["message"].as_str().unwrap();
    assert!(found.starts_with(message), "{found}");
}

#[test]
fn what_the_guest_prints_and_logs_goes_to_stderr() {
    let settings = json!({"print": "hello from wasm", "log": [
        {"level": "INFO", "message": "one", "engine": "e", "line": 1},
        {"level": "debug", "message": "two"},
    ]});
    let done = run(settings.clone(), &[]);
    done.response();
    assert_eq!(done.stderr, "hello from wasm\npolicy info: one engine=\"e\"\n");
    let verbose = run(settings, &["-v"]);
    verbose.response();
    assert!(verbose.stderr.ends_with("policy debug: two\n"), "{}", verbose.stderr);
}

#[test]
fn reads_requests_reviews_and_manifests_from_files_and_stdin() {
    let dir = scratch("requests");
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": pod_request()});
    let manifest =
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: b}\n";
    for (name, content, uid) in [
        ("request.json", pod_request().to_string(), "u1"),
        ("review.json", review.to_string(), "u1"),
        ("manifest.yaml", manifest.to_owned(), policy_host::request::MANIFEST_UID),
    ] {
        let path = write(&dir, name, &content);
        for (argument, stdin) in [(text(&path), ""), ("-", content.as_str())] {
            let args = [
                "run",
                "-r",
                argument,
                "--settings-json",
                r#"{"echo":true}"#,
                text(guest()),
            ];
            let response = policy_host_with(args, stdin, &[]).response();
            assert_eq!(response["uid"], uid);
            let payload: Value = serde_json::from_str(response["warnings"][0].as_str().unwrap()).unwrap();
            let request = AdmissionRequest::from_file(&path).unwrap();
            assert_eq!(&payload["request"], request.value());
            assert_eq!(payload["settings"], json!({"echo": true}));
        }
    }
}

#[test]
fn the_guest_gets_every_byte_of_the_object() {
    let object = r#"{"kind":"Pod","z":1e2,"a":0.1,"n":null,"big":18446744073709551615,"u":"\u00e9/","metadata":{}}"#;
    let request = pod_request().to_string().replace(
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"team-a"}}"#,
        object,
    );
    let args = ["run", "-r", "-", "--settings-json", r#"{"echo":true}"#, text(guest())];
    let response = policy_host_with(args, &request, &[]).response();
    let echoed = response["warnings"][0].as_str().unwrap();
    assert!(
        echoed.contains(
            r#""object":{"kind":"Pod","z":100.0,"a":0.1,"n":null,"big":18446744073709551615,"u":"é/","metadata":{}}"#
        ),
        "{echoed}"
    );
}

#[rstest]
#[case("uid")]
#[case("kind")]
#[case("resource")]
#[case("operation")]
#[case("userInfo")]
fn a_missing_member_is_named(#[case] member: &str) {
    let mut request = pod_request();
    request.as_object_mut().unwrap().remove(member);
    let done = policy_host_with(["run", "-r", "-", text(guest())], &request.to_string(), &[]);
    done.fails_with(&format!("-: AdmissionRequest.{member} is missing"));
}

#[rstest]
#[case("", "holds no document")]
#[case("[1]", "an AdmissionRequest must be a map, found a list")]
#[case("{\"kind\": \"AdmissionReview\"}", "has no member `request`")]
#[case("{a: b", "did not find expected")]
fn an_unusable_request_is_an_error(#[case] stdin: &str, #[case] expected: &str) {
    policy_host_with(["run", "-r", "-", text(guest())], stdin, &[]).fails_with(expected);
}

#[test]
fn missing_files_are_errors() {
    let wasm = text(guest());
    policy_host(["run", "-r", "/no/request.json", wasm]).fails_with("cannot read /no/request.json: No such file");
    policy_host(["run", "-r", "-", "/no/policy.wasm"]).fails_with("cannot read policy /no/policy.wasm: No such file");
    run(json!({}), &["--settings-path", "/no/settings.yaml"]).fails_with("cannot read /no/settings.yaml: No such file");
    run(
        json!({}),
        &["--replay-host-capabilities-interactions", "/no/session.yaml"],
    )
    .fails_with("cannot read /no/session.yaml: No such file");
    run(json!({}), &["--cluster-dir", "/no/cluster"]).fails_with("cannot read /no/cluster: No such file");
    run(json!({}), &["--record-host-capabilities-interactions", "/no/out.yaml"])
        .fails_with("cannot write /no/out.yaml");
}

#[test]
fn what_is_no_policy_is_an_error() {
    let dir = scratch("no-policy");
    let garbage = write(&dir, "a.wasm", "text");
    run_policy(&garbage, json!({}), &[]).fails_with("not a WebAssembly module");
    let empty = write(&dir, "b.wasm", b"\0asm\x01\0\0\0");
    let response = run_policy(&empty, json!({}), &[]);
    response.fails_with("Provided settings are not valid: Error invoking settings validation callback:");
}

#[test]
fn settings_come_from_a_file_before_the_flag() {
    let dir = scratch("settings");
    for (name, content) in [
        ("s.yaml", "do: reject\nmessage: from the file\n"),
        ("s.json", r#"{"do":"reject","message":"from the file"}"#),
    ] {
        let path = write(&dir, name, content);
        let response = run(
            json!({"do": "reject", "message": "from the flag"}),
            &["-s", text(&path)],
        )
        .response();
        assert_eq!(response["status"]["message"], "from the file");
    }
    let null = write(&dir, "null.yaml", "null\n");
    assert_eq!(run(json!({}), &["-s", text(&null)]).response()["allowed"], true);
    let list = write(&dir, "list.yaml", "[1]\n");
    run(json!({}), &["-s", text(&list)]).fails_with("list.yaml: settings must be a map or null, found a list");
    let args = ["run", "-r", "-", "--settings-json", "{", text(guest())];
    policy_host_with(args, &pod_request().to_string(), &[]).fails_with("--settings-json: ");
}

#[rstest]
#[case(json!("too big; see: docs\nand more"), "Error: Provided settings are not valid: too big; see: docs; and more\n")]
#[case(json!({"error": true}), "Provided settings are not valid: Error invoking settings validation callback: Guest call failure: settings error")]
#[case(json!({"trap": true}), "Provided settings are not valid: Error invoking settings validation callback: ")]
fn invalid_settings_end_the_run(#[case] settings: Value, #[case] expected: &str) {
    let done = run(json!({"settings": settings}), &[]);
    assert!(done.stderr.contains(expected), "{done:?}");
    done.fails_with("Provided settings are not valid: ");
}

#[test]
fn flags_of_kwctl_are_accepted_and_wrong_use_is_refused() {
    assert_eq!(run(json!({}), &["--disable-wasmtime-cache", "-v"]).code, 0);
    assert_eq!(run(json!({}), &["--allowed-host-capabilities", "--raw"]).code, 0);
    assert_eq!(
        policy_host(["run", text(guest())]).code,
        2,
        "--request-path is required"
    );
    let both = [
        "--record-host-capabilities-interactions",
        "a",
        "--replay-host-capabilities-interactions",
        "b",
    ];
    assert_eq!(run(json!({}), &both).code, 2);
    run(json!({}), &["--allowed-host-capabilities", "kubernetes/watch"])
        .fails_with("unknown host capability 'kubernetes/watch'");
    for command in ["run", "annotate", "inspect", "scaffold", "demo"] {
        assert_eq!(policy_host([command, "--help"]).code, 0);
    }
}

#[test]
fn raw_requests_are_any_json_and_patched_as_a_whole() {
    let args = [
        "run",
        "--raw",
        "-r",
        "-",
        "--settings-json",
        r#"{"do":"raw-mutate"}"#,
        text(guest()),
    ];
    let response = policy_host_with(args, r#"{"uid":"r","x":1}"#, &[]).response();
    assert_eq!(response["uid"], "r");
    // [{"op":"add","path":"/guest","value":"was here"}]
    assert_eq!(
        response["patch"],
        "W3sib3AiOiJhZGQiLCJwYXRoIjoiL2d1ZXN0IiwidmFsdWUiOiJ3YXMgaGVyZSJ9XQ=="
    );
    let no_uid = policy_host_with(["run", "--raw", "-r", "-", text(guest())], "[1]", &[]).response();
    assert_eq!((&no_uid["uid"], &no_uid["allowed"]), (&json!(""), &json!(true)));
}

#[test]
fn a_mutation_without_object_or_permission_is_refused() {
    let mut delete = pod_request();
    delete["operation"] = json!("DELETE");
    delete.as_object_mut().unwrap().remove("object");
    let args = ["run", "-r", "-", "--settings-json", r#"{"do":"forge"}"#, text(guest())];
    let response = policy_host_with(args, &delete.to_string(), &[]).response();
    assert_eq!(response["allowed"], false);
    assert!(
        response["status"]["message"]
            .as_str()
            .unwrap()
            .contains("only with DELETE")
    );

    let request = AdmissionRequest::from_value(pod_request()).unwrap();
    let context = EvaluationContext::default()
        .allowed_to_mutate(false)
        .policy_id("kw.cap.demo");
    let refused = crate::common::policy()
        .validate(&request, &json!({"do": "mutate"}), &context)
        .response;
    assert!(!refused.allowed && refused.patch.is_none());
    assert_eq!(
        refused.message(),
        "Request rejected by policy kw.cap.demo. The policy attempted to mutate the request, but it is currently \
         configured to not allow mutations."
    );
    assert!(
        crate::common::policy()
            .validate(&request, &json!({"do": "same"}), &context)
            .response
            .allowed
    );
}

#[test]
fn one_policy_serves_many_threads_with_a_fresh_instance_each() {
    let policy: Policy = crate::common::policy();
    let request = AdmissionRequest::from_value(pod_request()).unwrap();
    let context = EvaluationContext::default();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (policy, request, context) = (&policy, &request, &context);
            scope.spawn(move || {
                // A trapped instance must not spoil the next one.
                let trapped = policy.validate(request, &json!({"do": "trap"}), context);
                assert_eq!(trapped.response.code(), Some(500));
                let message = format!("thread {thread}");
                let settings = json!({"do": "reject", "message": message});
                assert_eq!(policy.validate(request, &settings, context).response.message(), message);
            });
        }
    });
}
