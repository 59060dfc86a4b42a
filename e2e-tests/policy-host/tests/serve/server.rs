//! The command `policy-host serve` in a process of its own, with the test policy.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;

use base64::Engine as _;
use serde_json::{Value, json};

use crate::common::{annotated, pod_request, scratch, text, write};
use crate::https::{self, Answer};

/// A running server; it ends with the test.
pub struct Server {
    child: Child,
    log: PathBuf,
    pub ready: Value,
}

impl Server {
    /// Starts with these arguments on a free port and waits until it listens.
    pub fn start<'a>(dir: &Path, args: impl IntoIterator<Item = &'a str>) -> Self {
        let log = dir.join("stderr");
        let mut child = Command::new(env!("CARGO_BIN_EXE_policy-host"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let ready = serde_json::from_str(&line).unwrap_or_else(|e| {
            let status = child.wait();
            panic!("{e}: {line:?}, {status:?}: {}", std::fs::read_to_string(&log).unwrap())
        });
        Self { child, log, ready }
    }

    /// Starts with these policies of the test module.
    pub fn of(name: &str, policies: &[Value], args: &[&str]) -> Self {
        let dir = folder(name, policies);
        let (manifests, modules) = (dir.join("manifests"), modules());
        let fixed = ["--policies", text(&manifests), "--policy-dir", text(modules)];
        Self::start(&dir, fixed.into_iter().chain(args.iter().copied()))
    }

    pub fn address(&self) -> SocketAddr {
        let url = self.ready["url"].as_str().unwrap();
        url.strip_prefix("https://").unwrap().parse().unwrap()
    }

    /// The PEM of the authority to trust.
    pub fn authority(&self) -> String {
        let bundle = self.ready["caBundle"].as_str().unwrap();
        let pem = base64::engine::general_purpose::STANDARD.decode(bundle).unwrap();
        String::from_utf8(pem).unwrap()
    }

    /// Posts a body as JSON.
    pub fn post(&self, path: &str, body: &[u8]) -> Answer {
        self.post_as(path, Some("application/json"), body)
    }

    pub fn post_as(&self, path: &str, content_type: Option<&str>, body: &[u8]) -> Answer {
        https::request(self.address(), &self.authority(), ("POST", path), content_type, body).unwrap()
    }

    /// The `response` to the request to create a Pod.
    pub fn review(&self, path: &str) -> Value {
        self.review_of(path, &pod_request())
    }

    /// The `response` to a request.
    pub fn review_of(&self, path: &str, request: &Value) -> Value {
        let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
        let answer = self.post(path, review.to_string().as_bytes());
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.body["apiVersion"], "admission.k8s.io/v1");
        assert_eq!(answer.body["kind"], "AdmissionReview");
        assert_eq!(answer.body["response"]["uid"], request["uid"]);
        answer.body["response"].clone()
    }

    /// What went to stderr so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    #[cfg(unix)]
    pub fn terminate(mut self) -> (ExitStatus, String) {
        let killed = Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        assert!(killed.success());
        let status = self.child.wait().unwrap();
        (status, self.log())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder whose `manifests` holds these policies.
pub fn folder(name: &str, policies: &[Value]) -> PathBuf {
    let dir = scratch(&format!("serve-{name}"));
    let manifests = dir.join("manifests");
    std::fs::create_dir(&manifests).unwrap();
    for (index, policy) in policies.iter().enumerate() {
        write(&manifests, &format!("{index}.json"), policy.to_string());
    }
    dir
}

/// The folder with the annotated test module.
pub fn modules() -> &'static Path {
    static MODULES: OnceLock<PathBuf> = OnceLock::new();
    MODULES.get_or_init(|| {
        let dir = scratch("serve-modules");
        std::fs::rename(annotated(&dir), dir.join("test-guest.wasm")).unwrap();
        dir
    })
}

/// A ClusterAdmissionPolicy of the test module; `changes` replace members of its spec, null removes them.
pub fn policy(name: &str, settings: Value, changes: Value) -> Value {
    let mut spec = json!({
        "policyServer": "default",
        "module": "registry://registry.example.com/policies/test-guest:v0.1.0",
        "mutating": true,
        "settings": settings,
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}],
        "timeoutSeconds": 10,
    });
    for (member, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(spec.as_object_mut().unwrap().remove(member)),
            value => spec[member] = value.clone(),
        }
    }
    json!({
        "apiVersion": "policies.kubewarden.io/v1",
        "kind": "ClusterAdmissionPolicy",
        "metadata": {"name": name},
        "spec": spec,
    })
}
