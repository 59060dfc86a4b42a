//! Processes that do not outlive the one that started them.
//!
//! Each runs in a process group of its own and in its data folder. A [`Folder`] has a watchdog: a shell that reads from a
//! pipe whose other end only the starting process holds. When that process ends, by return, panic, Ctrl-C or SIGKILL, the
//! pipe closes, and the watchdog kills what still runs in the folder and removes it. (The parent-death signal of Linux
//! would not do: it comes when the starting *thread* ends, and each test is a thread.)

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};

/// Groups are named by the files in `groups`. A number may belong to another program by now, so where /proc tells, only
/// what runs in the folder is killed.
const WATCHDOG: &str = r#"
trap '' INT TERM HUP
cat >/dev/null
cd "$1/groups" || exit 0
for group in *; do
  if [ -d /proc/self ] && [ "$(readlink "/proc/$group/cwd")" != "$1" ]; then continue; fi
  kill -s KILL -- "-$group" 2>/dev/null
done
cd / && [ -n "$2" ] || rm -rf -- "$1"
"#;

/// How long a process may take to end after SIGTERM before it is killed.
const STOP: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(20);
/// As much of the end of a log as explains a failure, in bytes.
const TAIL: u64 = 3000;

static FOLDERS: AtomicU32 = AtomicU32::new(0);

/// A data folder, for this user only. Removed when dropped, or when this process ends, with all that runs in it; the
/// environment variable `KEEP_CONTROL_PLANE` keeps the files.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    watchdog: Child,
    keep: bool,
}

impl Folder {
    /// Makes a folder among the temporary files.
    ///
    /// # Errors
    /// It, or its watchdog, cannot be made.
    pub fn new() -> Result<Folder> {
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("lmcache-control-plane-{}-{number}", std::process::id());
        // /proc shows paths without symbolic links.
        let parent = std::env::temp_dir()
            .canonicalize()
            .context("no folder for temporary files")?;
        let path = parent.join(name);
        // Left by a process of the same number whose watchdog was killed as well.
        let _ = fs::remove_dir_all(&path);
        let made = fs::DirBuilder::new().mode(0o700).create(&path);
        made.with_context(|| format!("cannot make {}", path.display()))?;
        fs::create_dir(path.join("groups"))?;
        let keep = std::env::var_os("KEEP_CONTROL_PLANE").is_some_and(|value| !value.is_empty());
        let watchdog = Command::new("sh")
            .args(["-c", WATCHDOG, "control-plane-watchdog"])
            .arg(&path)
            .arg(if keep { "keep" } else { "" })
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .context("cannot start sh")?;
        Ok(Folder { path, watchdog, keep })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(self.watchdog.stdin.take());
        let _ = self.watchdog.wait();
        if !self.keep {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// A running program. Killed when dropped.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    mark: PathBuf,
    log: PathBuf,
}

impl Process {
    /// Starts a program in the folder. What it prints is added to `<name>.log` there.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(folder: &Path, name: &str, command: &Command) -> Result<Process> {
        let log = folder.join(format!("{name}.log"));
        let output = OpenOptions::new().create(true).append(true).open(&log);
        let output = output.with_context(|| format!("cannot write {}", log.display()))?;
        let mut marked = Command::new("sh");
        // The process notes itself before it becomes the program, so that the watchdog knows it from the first moment.
        marked
            .args(["-c", r#": >"groups/$$" && exec "$@""#, name])
            .arg(command.get_program())
            .args(command.get_args());
        for (variable, value) in command.get_envs() {
            match value {
                Some(value) => marked.env(variable, value),
                None => marked.env_remove(variable),
            };
        }
        let child = marked
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {}", command.get_program().display()))?;
        let mark = folder.join("groups").join(child.id().to_string());
        let name = name.to_owned();
        Ok(Process { name, child, mark, log })
    }

    /// Its number, which is that of its group, too.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Fails with the end of its log if it has ended.
    ///
    /// # Errors
    /// It has ended.
    pub fn check(&mut self) -> Result<()> {
        match self.child.try_wait().context("cannot wait for a process")? {
            None => Ok(()),
            Some(status) => bail!("{} ended ({status}); the end of its log:\n{}", self.name, self.tail()),
        }
    }

    /// The end of its log.
    pub fn tail(&self) -> String {
        let read = || -> std::io::Result<String> {
            let mut file = File::open(&self.log)?;
            let length = file.metadata()?.len();
            file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        read().unwrap_or_else(|error| format!("({}: {error})", self.log.display()))
    }

    /// Everything that it printed, also before it was started anew.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn log(&self) -> Result<String> {
        let bytes = fs::read(&self.log).with_context(|| format!("cannot read {}", self.log.display()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Sends a signal to its group.
    ///
    /// # Errors
    /// It has ended.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        kill_process_group(self.group()?, signal).with_context(|| format!("cannot send a signal to {}", self.name))
    }

    /// Ends it with SIGTERM, after 20 seconds with SIGKILL.
    ///
    /// # Errors
    /// The operating system does not say whether it ended.
    pub fn stop(mut self) -> Result<()> {
        let _ = self.signal(Signal::TERM);
        let limit = Instant::now() + STOP;
        while self.child.try_wait().context("cannot wait for a process")?.is_none() && Instant::now() < limit {
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn group(&self) -> Result<Pid> {
        let id = i32::try_from(self.child.id()).ok();
        id.and_then(Pid::from_raw).context("a process without a number")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Its own children as well, hence also where it has ended. While it is not waited for, its number is not given to
        // another.
        let _ = self.signal(Signal::KILL);
        let _ = self.child.wait();
        let _ = fs::remove_file(&self.mark);
    }
}

#[cfg(test)]
mod tests;
