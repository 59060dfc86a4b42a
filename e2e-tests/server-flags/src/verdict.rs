//! Admission against the real parser, for one object and one release.

use std::fmt;

use lmcache_api::{FieldError, IpcMode, Kind, Release};
use lmcache_server::table::newest;
use lmcache_server::{validate, warnings};
use serde_json::{Value, json};

use crate::exceptions::{self, Exception};
use crate::input::Input;
use crate::line::{Line, with_release};
use crate::parser::{Answer, Outcome, RealParser};

/// A row of the report: what objects say about their release, and whose parser answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The release that every object states; `None`: none, the image is `latest`.
    pub stated: Option<Release>,
    /// The release whose code runs.
    pub parser: Release,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.stated {
            Some(release) => f.pad(&release.to_string()),
            None => f.pad("latest"),
        }
    }
}

/// What came out, where admission and parser agree.
#[derive(Clone, Copy)]
pub enum Verdict {
    /// Admitted, and the parser accepts the line.
    Accepted,
    /// Admitted with a warning that the process will not start, and the parser refuses the line.
    Foretold,
    /// Refused at admission because of the release, and the parser refuses the line.
    RefusedForRelease,
    /// Refused at admission because of the release, which only the started process shows.
    RefusedForBehaviour(&'static Exception),
    /// Refused at admission whatever the release. Says whether the parser refuses the line too.
    RefusedAlways(bool),
}

impl Verdict {
    /// One letter for the table.
    pub const fn letter(self) -> char {
        match self {
            Verdict::Accepted => 'A',
            Verdict::Foretold => 'W',
            _ => 'R',
        }
    }
}

/// Judges an object. The error is a disagreement, or a failure of the test bed.
pub fn judge(row: Row, input: &Input, parser: &mut RealParser) -> Result<Verdict, String> {
    let object = stating(row.stated, input);
    let line = Line::of(input.kind, &object, input.ipc_default);
    let answer = parser.ask(&line).map_err(|error| format!("{error:#}"))?;
    let faults = validate(input.kind, &object, input.ipc_default);
    let disagreement = |text: &str| Err(format!("{text}\n{}", describe(&line, &answer, &faults)));
    let refused = match answer.outcome {
        Outcome::Harness => return disagreement("the test bed failed"),
        Outcome::Help => return disagreement("the command prints its help"),
        Outcome::Accepted => false,
        Outcome::Usage | Outcome::Config | Outcome::Absent => true,
    };
    if faults.is_empty() {
        let foretold = own_warnings(input.kind, &object, input.ipc_default);
        let foretold: Vec<_> = foretold.iter().filter(|text| exceptions::foretells_refusal(text)).collect();
        return match (refused, foretold.is_empty()) {
            (false, true) => Ok(Verdict::Accepted),
            (true, false) => Ok(Verdict::Foretold),
            (true, true) => disagreement("admitted without a warning, but the parser refuses it"),
            (false, false) => disagreement(&format!("the parser accepts it in spite of the warning {foretold:?}")),
        };
    }
    let by_release = caused_by_release(row, input, &faults);
    if by_release.is_empty() {
        return Ok(Verdict::RefusedAlways(refused));
    }
    if refused {
        return Ok(Verdict::RefusedForRelease);
    }
    let excused = by_release.iter().map(|fault| exceptions::of_fault(row.parser, fault));
    match excused.collect::<Option<Vec<_>>>().as_deref() {
        Some([first, ..]) => Ok(Verdict::RefusedForBehaviour(first)),
        _ => disagreement("refused at admission because of the release, but the parser accepts it"),
    }
}

/// As [`judge`], for an object that asks for one thing only: there, refused at admission must mean refused by the
/// parser, whatever the reason.
pub fn judge_rule(row: Row, input: &Input, parser: &mut RealParser) -> Result<Verdict, String> {
    match judge(row, input, parser)? {
        Verdict::RefusedAlways(false) => {
            let object = stating(row.stated, input);
            let faults = validate(input.kind, &object, input.ipc_default);
            let excused = faults.iter().map(|fault| exceptions::of_fault(row.parser, fault));
            match excused.collect::<Option<Vec<_>>>().as_deref() {
                Some([first, ..]) => Ok(Verdict::RefusedForBehaviour(first)),
                _ => Err(format!("refused at admission, but the parser accepts it\n{}", list(&faults))),
            }
        }
        verdict => Ok(verdict),
    }
}

/// The object as of a release, or as of an image that does not tell it.
fn stating(release: Option<Release>, input: &Input) -> Value {
    if let Some(release) = release {
        return with_release(input.kind, &input.object, release);
    }
    let mut object = input.object.clone();
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        spec.shift_remove("release");
        if let Some(server) = spec.get_mut("server").and_then(Value::as_object_mut) {
            server.shift_remove("release");
        }
        match spec.get_mut("image") {
            Some(Value::Object(image)) => {
                image.insert("tag".to_owned(), json!("latest"));
            }
            Some(_) => {}
            None => {
                spec.insert("image".to_owned(), json!({"tag": "latest"}));
            }
        }
    }
    object
}

/// The faults that the object would not have in the newest release.
fn caused_by_release(row: Row, input: &Input, faults: &[FieldError]) -> Vec<FieldError> {
    let newest = with_release(input.kind, &input.object, newest());
    let always = validate(input.kind, &newest, input.ipc_default);
    let is_always = |fault: &FieldError| always.iter().any(|other| other.path == fault.path && other.kind == fault.kind);
    let by_release = faults.iter().filter(|fault| !is_always(fault));
    if row.stated.is_none() { Vec::new() } else { by_release.cloned().collect() }
}

/// The warnings beyond those about the object itself, which come first.
fn own_warnings(kind: Kind, object: &Value, ipc_default: IpcMode) -> Vec<String> {
    let others = lmcache_api::warnings(kind, object);
    let all = warnings(kind, object, ipc_default);
    all.into_iter().filter(|warning| !others.contains(warning)).collect()
}

fn describe(line: &Line, answer: &Answer, faults: &[FieldError]) -> String {
    format!(
        "    line:   {}\n    parser: {:?} {}\n{}",
        line.text(),
        answer.outcome,
        answer.message,
        list(faults)
    )
}

fn list(faults: &[FieldError]) -> String {
    faults.iter().map(|fault| format!("    fault:  {fault}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Source;

    #[test]
    fn an_image_that_tells_nothing_replaces_every_stated_release() {
        let input = |kind, spec: Value| Input {
            source: Source::Generated,
            name: String::new(),
            kind,
            object: json!({"spec": spec}),
            ipc_default: IpcMode::HostIPC,
        };
        let engine = input(
            Kind::LMCacheEngine,
            json!({"server": {"release": "0.4.3"}, "image": {"repository": "mirror", "tag": "v0.4.3"}}),
        );
        assert_eq!(
            stating(None, &engine),
            json!({"spec": {"server": {}, "image": {"repository": "mirror", "tag": "latest"}}})
        );
        let coordinator = input(Kind::LMCacheCoordinator, json!({"release": "0.4.7"}));
        assert_eq!(stating(None, &coordinator), json!({"spec": {"image": {"tag": "latest"}}}));
    }

    #[test]
    fn a_fault_of_the_release_is_told_from_one_of_the_object() {
        let release = Release { major: 0, minor: 4, patch: 7 };
        let input = Input {
            source: Source::Generated,
            name: String::new(),
            kind: Kind::LMCacheCoordinator,
            object: json!({
                "apiVersion": lmcache_api::API_VERSION,
                "kind": "LMCacheCoordinator",
                "metadata": {"name": "fleet", "namespace": "serving"},
                "spec": {"blendProbeStride": 2, "triggerWatermark": 2},
            }),
            ipc_default: IpcMode::HostIPC,
        };
        let row = Row { stated: Some(release), parser: release };
        let faults = validate(input.kind, &stating(row.stated, &input), input.ipc_default);
        assert_eq!(faults.len(), 2, "{faults:?}");
        let paths: Vec<_> = caused_by_release(row, &input, &faults).into_iter().map(|fault| fault.path).collect();
        assert_eq!(paths, ["spec.blendProbeStride"]);
    }
}
