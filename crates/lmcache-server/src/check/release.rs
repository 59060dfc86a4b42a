//! What the rendered line asks of a release that it does not have.

use lmcache_api::fault::quote;
use lmcache_api::{AnyObject, FieldError, Release};

use super::Subject;
use crate::line::Argument;
use crate::release::Running;
use crate::table::{COORDINATOR_COMMAND, Flag, SERVER_COMMAND, newest};

/// Every argument against the flags of the release. A release that is not known for certain is taken at its word.
pub(super) fn check(subject: &Subject<'_>, faults: &mut Vec<FieldError>) {
    let running = &subject.running;
    if !running.is_known() {
        return;
    }
    let (command, first) = match &subject.object {
        AnyObject::LMCacheCoordinator(_) => ("lmcache coordinator", COORDINATOR_COMMAND.since()),
        _ => ("lmcache server", SERVER_COMMAND.since()),
    };
    if running.is_before(first) {
        let origin = if running.path == running.field {
            String::new()
        } else {
            format!(" ({} tells the release where that is none of LMCache's)", running.field)
        };
        let text =
            format!("has no command `{command}`; the first release that has it is {first}: use a newer image{origin}");
        faults.push(subject.cannot(running.path, &text));
        if matches!(subject.object, AnyObject::LMCacheCoordinator(_)) {
            // Nothing is known of its flags.
            return;
        }
    }
    for argument in subject.arguments.iter().filter(|argument| !argument.is_default) {
        // Where nothing stands, the installation asks for it.
        let by_default = argument.path == "spec.isolatedIPC" && subject.value(argument.path).is_none();
        if let Some(text) = complaint(argument, subject.flags, running, by_default)
            && !faults.iter().any(|fault| fault.path == argument.path)
        {
            faults.push(subject.cannot(argument.path, &text));
        }
    }
}

/// What the release would complain of.
fn complaint(argument: &Argument, flags: &'static [Flag], running: &Running, by_default: bool) -> Option<String> {
    let rows = flags.iter().filter(|flag| flag.name == argument.flag);
    let Some(row) = rows.clone().find(|flag| flag.span.holds(running.position)) else {
        let mut since = rows.map(|flag| flag.span.since());
        let since = since.find(|since| running.is_before(*since));
        return Some(format!(
            "cannot do this: it has no {}; {}{}",
            argument.flag,
            first_that(since, "has it"),
            remedy(argument.path, by_default)
        ));
    };
    let value = argument.value.as_deref()?;
    if row.words.is_empty() {
        return None;
    }
    let mut words = rows.flat_map(|flag| flag.words).filter(|word| word.text == value);
    if words.clone().any(|word| word.span.holds(running.position)) {
        return None;
    }
    let since = words.find(|word| running.is_before(word.span.since()));
    Some(format!(
        "does not know {} for {}; {}",
        quote(value),
        argument.flag,
        first_that(since.map(|word| word.span.since()), "does")
    ))
}

fn first_that(since: Option<Release>, does: &str) -> String {
    match since {
        Some(since) => format!("the first release that {does} is {since}"),
        None => format!("no release up to {} {does}", newest()),
    }
}

/// What to do where the field is not the only way out.
fn remedy(path: &str, by_default: bool) -> &'static str {
    match path {
        _ if by_default => " (ipcDefault of this installation asks for it: set isolatedIPC: false, or hostIPC: true)",
        "spec.isolatedIPC" => " (set isolatedIPC: false to share /dev/shm instead)",
        _ => "",
    }
}

/// A release that nothing is known of, or that nobody can be sure of.
pub(super) fn newer(running: &Running, found: &mut Vec<String>) {
    if let (Some(tag), Some(stated)) = (running.contradicted, running.stated) {
        found.push(format!(
            "{} is {stated}, but the tag of LMCache's image says {tag}: if the tag is right, the command line is wrong",
            running.field
        ));
    }
    if let Some(version) = running.own_version {
        found.push(format!(
            "{} {version} is no release of LMCache, so the newest known one, {}, is assumed; {} tells which it is",
            running.path,
            newest(),
            running.field
        ));
    }
    if let Some(stated) = running.stated.filter(|_| running.is_newer()) {
        found.push(format!(
            "{} is LMCache {stated}, which this version does not know: its command line is written as for {}, the \
             newest known",
            running.path,
            newest()
        ));
    }
}
