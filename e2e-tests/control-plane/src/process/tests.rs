use super::*;

fn sleeper(folder: &Folder) -> Result<Process> {
    Process::start(
        folder.path(),
        "sleeper",
        Command::new("sh").args(["-c", "echo begun; sleep 600 & sleep 600"]),
    )
}

/// Whether anything runs in a process group. Zombies are not counted: they wait for a parent to ask.
fn runs(group: u32) -> bool {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok())
        .any(|stat| {
            let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
            fields.first() != Some(&"Z") && fields.get(2) == Some(&group.to_string().as_str())
        })
}

fn ends(group: u32) -> bool {
    let limit = Instant::now() + STOP;
    while runs(group) && Instant::now() < limit {
        thread::sleep(PAUSE);
    }
    !runs(group)
}

#[test]
fn dropping_kills_the_group_and_removes_the_folder() -> Result<()> {
    let folder = Folder::new()?;
    let process = sleeper(&folder)?;
    let (path, group) = (folder.path().to_owned(), process.id());
    let mark = path.join("groups").join(group.to_string());
    let limit = Instant::now() + STOP;
    while !mark.exists() && Instant::now() < limit {
        thread::sleep(PAUSE);
    }
    assert!(runs(group) && mark.exists());
    drop(process);
    assert!(ends(group));
    drop(folder);
    assert!(!path.exists());
    Ok(())
}

#[test]
fn the_watchdog_kills_what_was_left_behind() -> Result<()> {
    let mut folder = Folder::new()?;
    let process = sleeper(&folder)?;
    let limit = Instant::now() + STOP;
    while !process.log()?.contains("begun") && Instant::now() < limit {
        thread::sleep(PAUSE);
    }
    // A group that is noted, but runs elsewhere: the number was given to another program.
    let mut other = Command::new("sleep")
        .arg("600")
        .current_dir("/")
        .process_group(0)
        .spawn()?;
    fs::write(folder.path().join("groups").join(other.id().to_string()), "")?;
    // What the operating system does when the process that holds the pipe is killed.
    drop(folder.watchdog.stdin.take());
    assert!(ends(process.id()));
    assert!(folder.watchdog.wait()?.success());
    assert!(!folder.path().exists());
    assert!(runs(other.id()));
    other.kill()?;
    other.wait()?;
    Ok(())
}

#[test]
fn a_failure_is_explained_by_the_log() -> Result<()> {
    let folder = Folder::new()?;
    let mut process = Process::start(
        folder.path(),
        "short",
        Command::new("sh").args(["-c", "echo no port; exit 3"]),
    )?;
    let limit = Instant::now() + STOP;
    while process.check().is_ok() && Instant::now() < limit {
        thread::sleep(PAUSE);
    }
    let text = process
        .check()
        .map_or_else(|error| error.to_string(), |()| String::new());
    assert!(
        text.starts_with("short ended (exit status: 3)") && text.ends_with("no port\n"),
        "{text}"
    );
    Ok(())
}
