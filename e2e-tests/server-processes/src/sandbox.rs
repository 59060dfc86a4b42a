//! As much of a container as this host grants without a container runtime.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::ValueEnum;

/// How processes are set apart from the host. Addresses and ports are those of the host in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sandbox {
    /// The process is PID 1 of its own PID namespace, with its own `/dev/shm`; needs root.
    Root,
    /// The same in a user namespace, for everybody else.
    User,
    /// No namespaces: this host grants none (a container without `SYS_ADMIN`).
    Bare,
}

/// Mounts that a process sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mounts {
    /// Folders that cannot be written.
    pub read_only: Vec<PathBuf>,
    /// Folders that are empty and can be written, like an `emptyDir`.
    pub writable: Vec<PathBuf>,
}

/// Mounts what it is told (`r` or `w` and a folder, up to `--`), then becomes the program after it.
const MOUNT: &str = r#"set -e
mount -t tmpfs -o mode=1777,size=2g tmpfs /dev/shm
while [ "$1" != -- ]; do
  case "$1" in
    w) mount -t tmpfs -o mode=1777 tmpfs "$2" ;;
    r) mount --bind "$2" "$2"; mount -o remount,bind,ro "$2" ;;
  esac
  shift 2
done
shift
exec "$@""#;

impl Sandbox {
    /// The most that this host grants.
    pub fn best() -> Sandbox {
        [Sandbox::Root, Sandbox::User]
            .into_iter()
            .find(|sandbox| {
                let words = sandbox.wrap(&["true".into()], &Mounts::default());
                let Some((program, args)) = words.split_first() else {
                    return false;
                };
                let mut command = Command::new(program);
                command
                    .args(args)
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .stderr(Stdio::null());
                command.status().is_ok_and(|status| status.success())
            })
            .unwrap_or(Sandbox::Bare)
    }

    /// Whether processes are PID 1, as in a container: exit code and names in `/dev/shm` depend on it.
    pub fn pid_one(self) -> bool {
        self != Sandbox::Bare
    }

    /// For the head of the report.
    pub fn describe(self) -> &'static str {
        match self {
            Sandbox::Root => "each process is PID 1 of its own namespace, with its own /dev/shm",
            Sandbox::User => "each process is PID 1 of its own namespace, with its own /dev/shm (user namespace)",
            Sandbox::Bare => "no namespaces on this host: processes are not PID 1 and share /dev/shm",
        }
    }

    /// The command line that runs `argv` in it. The process dies with the thread that starts it, and everything in a
    /// PID namespace with its PID 1.
    pub fn wrap(self, argv: &[OsString], mounts: &Mounts) -> Vec<OsString> {
        let mut words: Vec<OsString> = ["setpriv", "--pdeathsig", "KILL", "--"].map(OsString::from).into();
        if self != Sandbox::Bare {
            words.push("unshare".into());
            if self == Sandbox::User {
                words.extend(["--user", "--map-root-user"].map(OsString::from));
            }
            words.extend(["--mount", "--pid", "--fork", "--mount-proc", "--kill-child"].map(OsString::from));
            words.extend(["sh", "-c", MOUNT, "sh"].map(OsString::from));
            let mut mount = |how: &str, folders: &[PathBuf]| {
                for folder in folders {
                    words.extend([how.into(), Path::as_os_str(folder).to_owned()]);
                }
            };
            // What is writable may lie below what is not, and comes on top of it.
            mount("r", &mounts.read_only);
            mount("w", &mounts.writable);
            words.push("--".into());
        }
        words.extend_from_slice(argv);
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(sandbox: Sandbox, mounts: &Mounts) -> String {
        let words = sandbox.wrap(&["lmcache".into(), "server".into()], mounts);
        words
            .iter()
            .map(|word| word.to_str().unwrap())
            .filter(|word| *word != MOUNT)
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn wraps_a_command_line() {
        let none = Mounts::default();
        assert_eq!(
            words(Sandbox::Bare, &none),
            "setpriv --pdeathsig KILL -- lmcache server"
        );
        assert_eq!(
            words(Sandbox::User, &none),
            "setpriv --pdeathsig KILL -- unshare --user --map-root-user --mount --pid --fork --mount-proc --kill-child \
             sh -c sh -- lmcache server"
        );
        let mounts = Mounts {
            read_only: vec!["/tmp".into()],
            writable: vec!["/tmp/cache".into()],
        };
        assert!(words(Sandbox::Root, &mounts).ends_with("sh -c sh r /tmp w /tmp/cache -- lmcache server"));
    }
}
