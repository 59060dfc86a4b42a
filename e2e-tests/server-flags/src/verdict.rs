//! Admission against the real parser, for one object and one release.

use std::fmt;

use lmcache_api::{FieldError, IpcMode, Kind, Release};
use lmcache_server::table::newest;
use lmcache_server::{validate, warnings};
use serde_json::{Value, json};

use crate::exceptions::{self, Exception};
use crate::input::{Input, Source};
use crate::line::{Line, with_release};
use crate::parser::{Answer, Outcome, RealParser};
use crate::reason;

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

/// Where admission and parser do not agree, or the test bed failed.
#[derive(Clone, Debug)]
pub struct Disagreement {
    /// One line, the same for every release.
    pub headline: &'static str,
    /// The line, the parser's words, the faults or warnings.
    pub detail: String,
}

/// What came out, where admission and parser agree.
#[derive(Clone, Copy)]
pub enum Verdict {
    /// Admitted, and the parser accepts the line.
    Accepted,
    /// Likewise, with a warning that the process will end later than the parser sees.
    AcceptedWithWarning(&'static Exception),
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
            Verdict::Accepted | Verdict::AcceptedWithWarning(_) => 'A',
            Verdict::Foretold => 'W',
            _ => 'R',
        }
    }
}

/// Judges an object. One that asks for a single thing (a rule) is judged strictly: what admission refuses or warns of, the
/// parser must refuse, and for that reason.
pub fn judge(row: Row, input: &Input, parser: &mut RealParser) -> Result<Verdict, Disagreement> {
    let object = stating(row.stated, input);
    let line = Line::of(input.kind, &object, input.ipc_default);
    let answer = parser.ask(&line).map_err(|error| Disagreement {
        headline: "the test bed failed",
        detail: format!("{error:#}"),
    })?;
    let faults = validate(input.kind, &object, input.ipc_default);
    let (verdict, texts) = if faults.is_empty() {
        let warnings = own_warnings(input.kind, &object, input.ipc_default);
        (admitted(&answer, &warnings), warnings)
    } else {
        let by_release = caused_by_release(row, input, &faults);
        (
            refused(row, &answer, &by_release),
            faults.iter().map(ToString::to_string).collect(),
        )
    };
    let verdict = match verdict {
        Ok(verdict) if input.source == Source::Rule => strictly(row, verdict, &answer, &faults, &texts),
        verdict => verdict,
    };
    verdict.map_err(|headline| Disagreement {
        headline,
        detail: describe(&line, &answer, &texts),
    })
}

/// Whether the parser refuses. The error says that it did not get so far.
fn is_refused(answer: &Answer) -> Result<bool, &'static str> {
    match answer.outcome {
        Outcome::Harness => Err("the test bed failed"),
        Outcome::Accepted => Ok(false),
        // Nothing is served.
        Outcome::Usage | Outcome::Config | Outcome::Absent | Outcome::Help => Ok(true),
    }
}

fn admitted(answer: &Answer, warnings: &[String]) -> Result<Verdict, &'static str> {
    let foretold = warnings.iter().any(|text| exceptions::foretells_refusal(text));
    match (is_refused(answer)?, foretold) {
        (false, false) => {
            let exception = warnings.iter().find_map(|text| exceptions::of_warning(text));
            Ok(exception.map_or(Verdict::Accepted, Verdict::AcceptedWithWarning))
        }
        (true, true) => Ok(Verdict::Foretold),
        (true, false) => Err("admitted without a warning, but the parser refuses it"),
        (false, true) => Err("a warning says that it does not start, but the parser accepts it"),
    }
}

fn refused(row: Row, answer: &Answer, by_release: &[FieldError]) -> Result<Verdict, &'static str> {
    let refused = is_refused(answer)?;
    if by_release.is_empty() {
        return Ok(Verdict::RefusedAlways(refused));
    }
    if refused {
        return Ok(Verdict::RefusedForRelease);
    }
    excuse(row, by_release)
        .map(Verdict::RefusedForBehaviour)
        .ok_or("refused at admission because of the release, but the parser accepts it")
}

fn strictly(
    row: Row,
    verdict: Verdict,
    answer: &Answer,
    faults: &[FieldError],
    texts: &[String],
) -> Result<Verdict, &'static str> {
    match verdict {
        Verdict::RefusedAlways(false) => excuse(row, faults)
            .map(Verdict::RefusedForBehaviour)
            .ok_or("refused at admission, but the parser accepts it"),
        Verdict::Foretold | Verdict::RefusedForRelease | Verdict::RefusedAlways(true)
            if answer.outcome != Outcome::Absent && !reason::is_shared(&answer.message, texts) =>
        {
            Err("admission and parser have different reasons")
        }
        verdict => Ok(verdict),
    }
}

/// The exception that explains why the parser refuses none of these faults.
fn excuse(row: Row, faults: &[FieldError]) -> Option<&'static Exception> {
    let excused = faults.iter().map(|fault| exceptions::of_fault(row.parser, fault));
    excused.collect::<Option<Vec<_>>>()?.into_iter().next()
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
    let is_always = |fault: &FieldError| {
        always
            .iter()
            .any(|other| other.path == fault.path && other.kind == fault.kind)
    };
    let by_release = faults.iter().filter(|fault| !is_always(fault));
    if row.stated.is_none() {
        Vec::new()
    } else {
        by_release.cloned().collect()
    }
}

/// The warnings beyond those about the object itself, which come first.
fn own_warnings(kind: Kind, object: &Value, ipc_default: IpcMode) -> Vec<String> {
    let others = lmcache_api::warnings(kind, object);
    let all = warnings(kind, object, ipc_default);
    all.into_iter().filter(|warning| !others.contains(warning)).collect()
}

fn describe(line: &Line, answer: &Answer, texts: &[String]) -> String {
    let mut detail = format!("{}\n{:?} {}", line.text(), answer.outcome, answer.message);
    for text in texts {
        detail.push('\n');
        detail.push_str(text);
    }
    detail
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(
            stating(None, &coordinator),
            json!({"spec": {"image": {"tag": "latest"}}})
        );
    }

    #[test]
    fn a_fault_of_the_release_is_told_from_one_of_the_object() {
        let release = Release {
            major: 0,
            minor: 4,
            patch: 7,
        };
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
        let row = Row {
            stated: Some(release),
            parser: release,
        };
        let faults = validate(input.kind, &stating(row.stated, &input), input.ipc_default);
        assert_eq!(faults.len(), 2, "{faults:?}");
        let paths: Vec<_> = caused_by_release(row, &input, &faults)
            .into_iter()
            .map(|fault| fault.path)
            .collect();
        assert_eq!(paths, ["spec.blendProbeStride"]);
    }
}
