//! What comes back for a review.

use base64::Engine as _;
use serde_json::{Value, json};

use crate::common::{pod_request, warnings};
use crate::https;
use crate::server::{Server, policy};

fn patch(response: &Value) -> Value {
    assert_eq!(response["patchType"], "JSONPatch", "{response}");
    let bytes = base64::engine::general_purpose::STANDARD.decode(response["patch"].as_str().unwrap());
    serde_json::from_slice(&bytes.unwrap()).unwrap()
}

fn refusing() -> Value {
    json!({"do": "reject", "message": "no", "code": 422, "auditAnnotations": {"k": "v"}, "calls": [{"binding": "x"}]})
}

#[test]
fn answers_reviews_as_policy_server_does() {
    let policies = [
        policy("accept", json!({}), json!({})),
        policy("mutate", json!({"do": "mutate"}), json!({})),
        policy("same", json!({"do": "same"}), json!({"mutating": false})),
        policy("reject", refusing(), json!({})),
        policy("reject-plainly", json!({"do": "reject"}), json!({})),
        policy("trap", json!({"do": "trap"}), json!({})),
        policy("garbled", json!({"do": "garbled"}), json!({})),
    ];
    let server = Server::of("reviews", &policies, &[]);

    let accepted = json!({"uid": "u1", "allowed": true, "auditAnnotations": null, "warnings": null});
    assert_eq!(server.review("/validate/kw.cap.accept"), accepted);
    assert_eq!(server.review("/validate/kw.cap.same"), accepted);
    for name in [
        "/validate/clusterwide-accept",
        "/validate/accept",
        "/audit/kw.cap.accept",
    ] {
        assert_eq!(server.review(name), accepted, "{name}");
    }

    let added = json!([{"op": "add", "path": "/metadata/annotations", "value": {"guest": "was here"}}]);
    let mutated = server.review("/validate/kw.cap.mutate");
    assert_eq!((&mutated["allowed"], patch(&mutated)), (&json!(true), added));
    assert_eq!(mutated.get("status"), None);

    let rejected = server.review("/validate/kw.cap.reject");
    let expected = json!({
        "uid": "u1", "allowed": false, "status": {"message": "no", "code": 422},
        "auditAnnotations": {"k": "v"}, "warnings": rejected["warnings"],
    });
    assert_eq!(rejected, expected);
    assert!(warnings(&rejected)[0].contains("unknown binding: x"), "{rejected}");
    let plainly = server.review("/validate/kw.cap.reject-plainly");
    assert_eq!((&plainly["allowed"], plainly.get("status")), (&json!(false), None));

    for (name, text) in [
        ("trap", "internal server error: "),
        ("garbled", "internal server error: "),
    ] {
        let failed = server.review(&format!("/validate/kw.cap.{name}"));
        assert_eq!(
            (&failed["allowed"], &failed["status"]["code"]),
            (&json!(false), &json!(500))
        );
        assert!(
            failed["status"]["message"].as_str().unwrap().starts_with(text),
            "{failed}"
        );
    }
    assert!(
        server
            .log()
            .contains("kw.cap.mutate: CREATE pods team-a/web: admitted, 1 change\n")
    );
    assert!(
        server
            .log()
            .contains("kw.cap.reject: CREATE pods team-a/web: refused with 422: no\n")
    );
}

#[test]
fn what_is_no_change_is_none_and_a_forbidden_change_is_a_refusal() {
    let policies = [policy(
        "validating",
        json!({"do": "mutate"}),
        json!({"mutating": false}),
    )];
    let server = Server::of("forbidden", &policies, &[]);
    let refused = server.review("/validate/kw.cap.validating");
    assert_eq!(
        (&refused["allowed"], refused.get("patch"), refused.get("patchType")),
        (&json!(false), None, None)
    );
    assert_eq!(
        refused["status"],
        json!({"message": "Request rejected by policy kw.cap.validating. The policy attempted to mutate the request, but \
            it is currently configured to not allow mutations."})
    );
    // The audit scanner gets the decision as it is.
    let audited = server.review("/audit/kw.cap.validating");
    assert_eq!(audited["allowed"], true);
    assert_eq!(patch(&audited)[0]["path"], "/metadata/annotations");
}

#[test]
fn monitor_mode_admits_everything_unchanged() {
    let monitor = json!({"mode": "monitor", "message": "custom"});
    let policies = [
        policy("refuses", refusing(), monitor.clone()),
        policy("mutates", json!({"do": "mutate"}), monitor.clone()),
        policy(
            "forbidden",
            json!({"do": "mutate"}),
            json!({"mode": "monitor", "mutating": false}),
        ),
        policy("fails", json!({"do": "trap"}), monitor),
    ];
    let server = Server::of("monitor", &policies, &[]);
    for name in ["refuses", "mutates", "forbidden", "fails"] {
        let response = server.review(&format!("/validate/kw.cap.{name}"));
        assert_eq!(response["allowed"], true, "{response}");
        for member in ["status", "patch", "patchType"] {
            assert_eq!(response.get(member), None, "{name}: {response}");
        }
    }
    let response = server.review("/validate/kw.cap.refuses");
    assert_eq!(
        (&response["auditAnnotations"], warnings(&response).len()),
        (&json!({"k": "v"}), 1)
    );
    let audited = server.review("/audit/kw.cap.refuses");
    assert_eq!(
        (&audited["allowed"], &audited["status"]),
        (&json!(false), &json!({"message": "no", "code": 422}))
    );
    assert!(
        server
            .log()
            .contains("policy kw.cap.refuses in monitor mode: refused with 422: no\n")
    );
    assert_eq!(
        server.ready["policies"][3],
        json!({
            "name": "refuses", "mutating": true, "mode": "monitor", "backgroundAudit": true,
        })
    );
}

#[test]
fn a_message_of_the_manifest_replaces_that_of_a_refusal() {
    let policies = [
        policy("refuses", refusing(), json!({"message": "ask the platform team"})),
        policy("accepts", json!({}), json!({"message": "ask the platform team"})),
    ];
    let server = Server::of("message", &policies, &[]);
    assert_eq!(
        server.review("/validate/kw.cap.refuses")["status"],
        json!({
            "message": "ask the platform team", "code": 422, "details": {"causes": [{"message": "no"}]},
        })
    );
    assert_eq!(server.review("/audit/kw.cap.refuses")["status"]["message"], "no");
    assert_eq!(server.review("/validate/kw.cap.accepts").get("status"), None);
}

#[test]
fn each_request_gets_an_instance_of_its_own() {
    let server = Server::of("fresh", &[policy("count", json!({"count": true}), json!({}))], &[]);
    for _ in 0..3 {
        assert_eq!(warnings(&server.review("/validate/count")), ["asked 1 times"]);
    }
}

#[test]
fn the_policy_sees_the_request_without_nulls_and_unknown_members() {
    let server = Server::of(
        "echo",
        &[policy("echo", json!({"echo": true, "x": 1.50}), json!({}))],
        &[],
    );
    let mut request = pod_request();
    request["object"]["spec"] = json!({"b": null, "a": 60.0, "big": 18_446_744_073_709_551_615_u64});
    let expected = json!({"request": request, "settings": {"echo": true, "x": 1.5}});
    request["oldObject"] = Value::Null;
    request["surprise"] = json!(1);
    let response = server.review_of("/validate/echo", &request);
    assert_eq!(warnings(&response), [expected.to_string()]);
}

#[test]
fn kubewardens_own_namespace_is_admitted_unseen() {
    let policies = [policy("refuses", refusing(), json!({}))];
    let server = Server::of("own-namespace", &policies, &["--kubewarden-namespace", "team-a"]);
    assert_eq!(server.review("/validate/refuses")["allowed"], true);
    assert_eq!(server.review("/audit/refuses")["allowed"], true);
    let mut request = pod_request();
    request["namespace"] = json!("kubewarden");
    assert_eq!(server.review_of("/validate/refuses", &request)["allowed"], false);
}

/// Status codes that make the API server apply `failurePolicy`.
#[test]
fn bodies_that_cannot_be_answered() {
    let server = Server::of("bodies", &[policy("accept", json!({}), json!({}))], &[]);
    let json_type = Some("application/json");
    let cases = [
        (
            "/validate/kw.cap.nobody",
            json_type,
            VALID,
            404,
            "policy not found: kw.cap.nobody",
        ),
        (
            "/audit/kw.cap.nobody",
            json_type,
            VALID,
            404,
            "policy not found: kw.cap.nobody",
        ),
        (
            "/validate/accept",
            json_type,
            "{",
            400,
            "Failed to parse the request body as JSON",
        ),
        (
            "/validate/accept",
            json_type,
            "",
            400,
            "Failed to parse the request body as JSON",
        ),
        ("/validate/accept", json_type, "{}", 422, "missing field `request`"),
        ("/audit/accept", json_type, "{}", 422, "missing field `request`"),
        (
            "/validate/accept",
            json_type,
            r#"{"request": {}}"#,
            422,
            "AdmissionRequest.uid is missing",
        ),
        (
            "/validate/accept",
            json_type,
            r#"{"request": 3}"#,
            422,
            "must be a map, found a number",
        ),
        ("/validate/accept", None, VALID, 415, "Content-Type: application/json"),
        (
            "/validate/accept",
            Some("text/plain"),
            VALID,
            415,
            "Content-Type: application/json",
        ),
    ];
    for (path, content_type, body, status, message) in cases {
        let answer = server.post_as(path, content_type, body.as_bytes());
        let shown = format!("{path} {content_type:?} {body}: {answer:?}");
        assert_eq!(
            (answer.status, &answer.body["status"]),
            (status, &json!(status)),
            "{shown}"
        );
        assert!(answer.body["message"].as_str().unwrap().contains(message), "{shown}");
    }
    assert_eq!(server.post("/validate/accept", VALID.as_bytes()).status, 200);
}

const VALID: &str = r#"{"request": {"uid": "u", "kind": {"group": "", "version": "v1", "kind": "Pod"},
    "resource": {"group": "", "version": "v1", "resource": "pods"}, "operation": "CREATE", "userInfo": {}}}"#;

#[test]
fn other_paths_and_methods() {
    let server = Server::of("paths", &[policy("accept", json!({}), json!({}))], &[]);
    let get = |method: &str, path: &str| {
        https::request(server.address(), &server.authority(), (method, path), None, b"")
            .unwrap()
            .status
    };
    assert_eq!(get("GET", "/readiness"), 200);
    assert_eq!(get("GET", "/validate/accept"), 405);
    assert_eq!(get("POST", "/validate"), 404);
    assert_eq!(get("POST", "/validate/a/b"), 404);
}
