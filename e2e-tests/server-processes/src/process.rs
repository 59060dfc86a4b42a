//! A started process: waiting for its ports, its end, its log; killed on drop.

use std::ffi::OsString;
use std::fs::{self, File};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{collections::BTreeMap, collections::BTreeSet, thread};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::container::Line;
use crate::sandbox::{Mounts, Sandbox};
use crate::sockets;

/// How long a server may take to open its ports or to give up: seconds on an idle machine, a minute beside a compiler.
/// Imports dominate.
pub const START: Duration = Duration::from_secs(180);
/// How long a server may take to end after SIGTERM: the grace period of a Pod, after which the kubelet kills it.
pub const STOP: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(50);

/// A started process and everything that it starts.
#[derive(Debug)]
pub struct Process {
    /// The outermost process: the wrapper of the sandbox, or the program itself.
    child: Child,
    sandbox: Sandbox,
    started: Instant,
    exit: Option<i32>,
    /// What it printed.
    log: PathBuf,
}

impl Process {
    /// Starts a command line in its own process group, with nothing but the given environment. Output goes to `log`.
    ///
    /// # Errors
    /// The log or the process cannot be made.
    pub fn start(line: &Line, sandbox: Sandbox, mounts: &Mounts, folder: &Path, log: &Path) -> Result<Process> {
        let argv: Vec<OsString> = line.argv.iter().map(OsString::from).collect();
        let words = sandbox.wrap(&argv, mounts);
        let (program, args) = words.split_first().context("an empty command line")?;
        let output = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        let child = Command::new(program)
            .args(args)
            .env_clear()
            .envs(&line.env)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        Ok(Process {
            child,
            sandbox,
            started: Instant::now(),
            exit: None,
            log: log.to_owned(),
        })
    }

    /// Waits until something listens on the port; returns the time since the start.
    ///
    /// # Errors
    /// The process ended, or [`START`] went by.
    pub fn open(&mut self, port: u16) -> Result<Duration> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        loop {
            if TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok() {
                return Ok(self.started.elapsed());
            }
            if let Some(exit) = self.ended()? {
                bail!("exit {exit} before port {port} was open: {}", self.last_words());
            }
            if self.started.elapsed() > START {
                bail!("port {port} was not open after {START:?}: {}", self.last_words());
            }
            thread::sleep(PAUSE);
        }
    }

    /// Waits for the end; the exit code, 128 + signal where a signal ended it, `None` where it runs on.
    ///
    /// # Errors
    /// The operating system does not say.
    pub fn end(&mut self, within: Duration) -> Result<Option<i32>> {
        let deadline = Instant::now() + within;
        loop {
            match self.ended()? {
                None if Instant::now() < deadline => thread::sleep(PAUSE),
                exit => return Ok(exit),
            }
        }
    }

    /// The exit code, if it has ended.
    ///
    /// # Errors
    /// The operating system does not say.
    pub fn ended(&mut self) -> Result<Option<i32>> {
        if self.exit.is_none() {
            let status = self.child.try_wait().context("cannot wait for a process")?;
            self.exit = status.map(|status| {
                status
                    .code()
                    .unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
            });
        }
        Ok(self.exit)
    }

    /// Sends a signal to the program itself, as a container runtime does.
    ///
    /// # Errors
    /// It has ended already.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        let pid = self.program().context("the process is gone")?;
        kill_process(pid, signal).context("cannot send a signal")
    }

    /// The ports on which it listens, each with its addresses.
    ///
    /// # Errors
    /// The operating system does not say.
    pub fn listening(&self) -> Result<BTreeMap<u16, BTreeSet<IpAddr>>> {
        sockets::listening(&descendants(self.outermost()))
    }

    /// Names in its `/dev/shm` that begin like segments of LMCache. Where `/dev/shm` is the host's, those that name
    /// this process.
    pub fn segments(&self) -> Vec<String> {
        let Some(pid) = self.program() else { return Vec::new() };
        let pid = pid.as_raw_nonzero();
        let Ok(entries) = fs::read_dir(format!("/proc/{pid}/root/dev/shm")) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| name.starts_with("lmcache_l1_pool"))
            .filter(|name| self.sandbox.pid_one() || name.ends_with(&format!("_{pid}")))
            .collect();
        names.sort();
        names
    }

    /// Everything that it printed, without colours.
    pub fn log(&self) -> String {
        fs::read(&self.log).map_or_else(|_| String::new(), |bytes| plain(&String::from_utf8_lossy(&bytes)))
    }

    /// The first line of the log with these words.
    pub fn said(&self, words: &str) -> Option<String> {
        let log = self.log();
        log.lines()
            .find(|line| line.contains(words))
            .map(|line| line.trim().to_owned())
    }

    /// The last line of the log that says something, and where the log is.
    pub fn last_words(&self) -> String {
        let log = self.log();
        let last = log
            .lines()
            .map(str::trim)
            .rfind(|line| !line.is_empty())
            .unwrap_or("(nothing printed)");
        format!("{last} [{}]", self.log.display())
    }

    fn outermost(&self) -> i32 {
        // A PID is a positive i32 on every Unix that has /proc.
        i32::try_from(self.child.id()).unwrap_or_default()
    }

    /// The program itself: inside a sandbox it is the only child of the wrapper. `None` once it has ended.
    fn program(&self) -> Option<Pid> {
        let pid = match self.sandbox {
            Sandbox::Bare => self.outermost(),
            _ => *children(self.outermost()).first()?,
        };
        self.exit.is_none().then(|| Pid::from_raw(pid)).flatten()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if matches!(self.ended(), Ok(Some(_))) {
            return;
        }
        // PID 1 first: with it goes all of its namespace, and then the wrapper. The group is for where there is none.
        if let Some(program) = self.program() {
            let _ = kill_process(program, Signal::KILL);
        }
        if let Some(group) = Pid::from_raw(self.outermost()) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

/// The text without escape sequences for colours (`ESC [ 33 ; 20 m`).
fn plain(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        out.push_str(rest.strip_prefix('m').unwrap_or(rest));
    }
    out
}

/// A process and all that descend from it.
fn descendants(pid: i32) -> Vec<i32> {
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        found.extend(children(parent));
        next += 1;
    }
    found
}

fn children(parent: i32) -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
            stat.is_ok_and(|stat| parent_of(&stat) == Some(parent))
        })
        .collect()
}

/// The parent in a line of `/proc/PID/stat`: `PID (NAME) STATE PARENT ...`, where the name may hold anything.
fn parent_of(stat: &str) -> Option<i32> {
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_parent_whatever_the_name() {
        assert_eq!(parent_of("42 (sh) S 7 42 42 0 -1"), Some(7));
        assert_eq!(parent_of("42 (a) S 1 (b)) R 9 42"), Some(9));
        assert_eq!(parent_of(""), None);
    }

    #[test]
    fn removes_colours() {
        assert_eq!(plain("\u{1b}[33;20mone\u{1b}[0m two"), "one two");
        assert_eq!(plain("plain"), "plain");
    }

    /// A process whose log is removed with it.
    struct Scratch(Process);

    impl Drop for Scratch {
        fn drop(&mut self) {
            fs::remove_file(&self.0.log).unwrap();
        }
    }

    fn start(script: &str, name: &str) -> Scratch {
        let line = Line {
            argv: ["sh", "-c", script].map(str::to_owned).into(),
            env: BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap())]),
        };
        let log = std::env::temp_dir().join(format!("server-processes-{}-{name}", std::process::id()));
        Scratch(Process::start(&line, Sandbox::Bare, &Mounts::default(), Path::new("/"), &log).unwrap())
    }

    #[test]
    fn tells_exit_codes_signals_and_last_words() {
        let mut scratch = start("echo one; echo two >&2; echo; exit 3", "exit");
        let process = &mut scratch.0;
        assert_eq!(process.end(STOP).unwrap(), Some(3));
        assert!(process.last_words().starts_with("two ["), "{}", process.last_words());
        assert_eq!(process.said("ne").as_deref(), Some("one"));
        assert_eq!(process.said("three"), None);
        let error = process.open(9).unwrap_err().to_string();
        assert!(error.starts_with("exit 3 before port 9 was open: two"), "{error}");

        let mut scratch = start("sleep 60", "signal");
        let process = &mut scratch.0;
        assert_eq!(process.end(Duration::ZERO).unwrap(), None);
        process.signal(Signal::TERM).unwrap();
        assert_eq!(process.end(STOP).unwrap(), Some(143));
        assert!(process.signal(Signal::TERM).is_err());
    }

    #[test]
    fn dropping_kills_the_whole_group() {
        let scratch = start("sleep 60 & sleep 60", "drop");
        let pid = scratch.0.outermost();
        let deadline = Instant::now() + STOP;
        while descendants(pid).len() < 3 && Instant::now() < deadline {
            thread::sleep(PAUSE);
        }
        let all = descendants(pid);
        assert_eq!(all.len(), 3);
        drop(scratch);
        let alive = |pid: &i32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            // Z: dead, and its new parent has not yet asked.
            !stat.is_empty() && !stat.contains(") Z ")
        };
        while all.iter().any(alive) && Instant::now() < deadline {
            thread::sleep(PAUSE);
        }
        assert!(!all.iter().any(alive));
    }
}
