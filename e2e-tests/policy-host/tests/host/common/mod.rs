//! What the tests share: the test policy, the command, scratch folders.

#![allow(dead_code, reason = "not every test binary uses everything")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use policy_host::Policy;
use serde_json::{Value, json};

/// The wasm of `test-guest`, built once.
pub fn guest() -> &'static Path {
    static GUEST: OnceLock<PathBuf> = OnceLock::new();
    GUEST.get_or_init(|| {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("test-guest/Cargo.toml");
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("test-guest");
        let output = Command::new(env!("CARGO"))
            .args([
                "build",
                "--locked",
                "--release",
                "--target",
                "wasm32-wasip1",
                "--manifest-path",
            ])
            .arg(manifest)
            .arg("--target-dir")
            .arg(&target)
            // Flags and wrappers of the outer build (coverage, clippy) do not fit a wasm build.
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .env_remove("RUSTC_WORKSPACE_WRAPPER")
            .output()
            .expect("cargo runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        target.join("wasm32-wasip1/release/test_guest.wasm")
    })
}

/// The compiled test policy.
pub fn policy() -> Policy {
    static POLICY: OnceLock<Policy> = OnceLock::new();
    POLICY.get_or_init(|| Policy::from_file(guest()).unwrap()).clone()
}

/// An empty folder of that name.
pub fn scratch(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scratch").join(name);
    if dir.exists() {
        std::fs::remove_dir_all(&dir).unwrap();
    }
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

/// Writes a file and gives its path.
pub fn write(dir: &Path, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

/// A request to create a Pod.
pub fn pod_request() -> Value {
    json!({
        "uid": "u1",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "name": "web",
        "namespace": "team-a",
        "operation": "CREATE",
        "userInfo": {"username": "dev", "groups": ["devs"]},
        "object": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "team-a"}},
    })
}

/// Metadata of the test policy.
pub const METADATA: &str = r#"rules:
  - apiGroups: [""]
    apiVersions: ["v1"]
    resources: ["pods"]
    operations: ["CREATE"]
mutating: true
backgroundAudit: false
contextAwareResources:
  - {apiVersion: v1, kind: Namespace}
hostCapabilities:
  - kubernetes/get_resource
minimumKubewardenVersion: 1.30.0
annotations:
  io.kubewarden.policy.title: test-guest
  io.kubewarden.policy.version: 0.1.0
  io.kubewarden.policy.description: Does what it is told
  io.kubewarden.policy.author: A Person <a@example.com>, B <b@example.com>
  io.kubewarden.policy.ociUrl: ghcr.io/acme/policies/test-guest
  io.kubewarden.policy.source: https://github.com/acme/policies
  io.kubewarden.policy.url: https://acme.example.com
  io.kubewarden.policy.license: Apache-2.0
  io.kubewarden.policy.severity: medium
  io.kubewarden.policy.category: Resource validation
  io.artifacthub.displayName: Test guest
  io.artifacthub.resources: Pod
  io.artifacthub.keywords: test, guest
  com.github.release.tag: test-guest/v0.1.0
"#;

/// The annotated test policy, in the folder.
pub fn annotated(dir: &Path) -> PathBuf {
    let metadata = write(dir, "metadata.yml", METADATA);
    let out = dir.join("annotated.wasm");
    let done = policy_host(["annotate", "-m", text(&metadata), "-o", text(&out), text(guest())]);
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    out
}

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// What a run of the command left.
#[derive(Debug)]
pub struct Done {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Done {
    /// The one line of JSON on stdout.
    pub fn response(&self) -> Value {
        assert_eq!(self.code, 0, "{self:?}");
        assert_eq!(self.stdout.lines().count(), 1, "{self:?}");
        serde_json::from_str(&self.stdout).unwrap()
    }

    /// Asserts exit code 1, an empty stdout, and one error line that contains the text.
    pub fn fails_with(&self, expected: &str) {
        let errors: Vec<&str> = self.stderr.lines().filter(|line| line.starts_with("Error: ")).collect();
        assert_eq!((self.code, self.stdout.as_str(), errors.len()), (1, "", 1), "{self:?}");
        assert!(errors[0].contains(expected), "expected {expected:?} in {self:?}");
    }
}

/// Runs the command.
pub fn policy_host<'a>(args: impl IntoIterator<Item = &'a str>) -> Done {
    policy_host_with(args, "", &[])
}

/// Runs the command with standard input and environment variables.
pub fn policy_host_with<'a>(args: impl IntoIterator<Item = &'a str>, stdin: &str, env: &[(&str, &str)]) -> Done {
    let mut child = Command::new(env!("CARGO_BIN_EXE_policy-host"))
        .args(args)
        .env_remove("NO_COLOR")
        .envs(env.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The command may end without reading.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    let output = child.wait_with_output().unwrap();
    Done {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// `run` with a Pod request on stdin and these settings.
pub fn run(settings: Value, flags: &[&str]) -> Done {
    run_policy(guest(), settings, flags)
}

/// [`run`] with another policy.
pub fn run_policy(policy: &Path, settings: Value, flags: &[&str]) -> Done {
    let settings = settings.to_string();
    let mut args = vec!["run", "--request-path", "-", "--settings-json", &settings];
    args.extend(flags);
    args.extend(["--no-color", text(policy)]);
    policy_host_with(args, &pod_request().to_string(), &[])
}

/// A `get_resource` call of the test policy.
pub fn get(api_version: &str, kind: &str, name: &str, namespace: Option<&str>) -> Value {
    json!({"payload": {
        "api_version": api_version, "kind": kind, "name": name, "namespace": namespace, "disable_cache": false,
    }})
}

/// The warnings of a response; the test policy puts the answers to its host calls there.
pub fn warnings(response: &Value) -> Vec<String> {
    serde_json::from_value(response["warnings"].clone()).unwrap()
}
