//! The arguments with which vLLM has to run for CacheBlend.
//!
//! Blending recomputes part of a chunk inside vLLM's own forward pass, so it sets conditions on how vLLM schedules and
//! captures: no chunked prefill, one pipeline stage, blocks of 64 tokens, its own attention backend.

use super::command;
use super::compatibility::Releases;
use super::outcome::Skip;
use super::settings::CacheblendArguments;
use super::target::named;
use super::unchunked;
use crate::text::quoted;
use lmcache_api::Cudagraph;
use pod_edit::args::{
    ASYNC_SCHEDULING, ATTENTION_BACKEND, ATTENTION_CONFIG, BLOCK_SIZE, COMPILATION_CONFIG, CommandLine,
    ENABLE_CHUNKED_PREFILL, ENFORCE_EAGER, Flag, FlagUse, PIPELINE_PARALLEL_SIZE,
};
use pod_edit::env::{self, EnvState};
use pod_edit::{Edit, Plan};
use serde_json::Value;

/// Name of CacheBlend's attention backend.
const BACKEND: &str = "CUSTOM";

/// How vLLM up to 0.13 is told the backend as well.
const ATTENTION_BACKEND_VARIABLE: &str = "VLLM_ATTENTION_BACKEND";

/// Tokens per block that CacheBlend works with.
pub(super) const BLOCK: &str = "64";

/// What decides the arguments of one container.
pub(super) struct Arguments<'a> {
    pub index: usize,
    pub list: CacheblendArguments,
    pub releases: Releases,
    pub cudagraph: Option<Cudagraph>,
    pub target: &'a Value,
    pub line: &'a CommandLine<'a>,
}

/// The edits that set them. The connection stands between the two, where the Go operator has it.
pub(super) struct Planned {
    pub before_connection: Option<Edit>,
    pub behind_connection: Vec<Edit>,
}

impl Arguments<'_> {
    /// Plans the edits and tries them on a copy of the Pod.
    ///
    /// # Errors
    /// A command line that cannot be brought to say this, or with which vLLM would exit.
    pub fn plan(&self, pod: &Value, warnings: &mut Vec<String>) -> Result<Planned, Skip> {
        unchunked::check(self.line, self.target, warnings)?;
        let before_connection = match self.list {
            CacheblendArguments::Full => self.known(self.attention_backend(warnings), warnings),
            CacheblendArguments::Minimal => None,
        };
        let wanted = self.behind_connection(warnings);
        let behind_connection: Vec<_> = wanted
            .into_iter()
            .filter_map(|edit| self.known(edit, warnings))
            .collect();
        let all = before_connection.iter().chain(&behind_connection);
        let plan = Plan::from(all.cloned().collect::<Vec<_>>());
        plan.check(pod).map_err(|(_, error)| command::unfit(&error))?;
        replaced(&plan.edits, pod, self.target, warnings);
        Ok(Planned {
            before_connection,
            behind_connection,
        })
    }

    /// The backend, in the one place of the two where the user names one: vLLM refuses it in both.
    fn attention_backend(&self, warnings: &mut Vec<String>) -> Edit {
        if let EnvState::Literal(backend) = env::state(self.target, ATTENTION_BACKEND_VARIABLE)
            && backend != BACKEND
        {
            warnings.push(format!(
                "container {} sets {ATTENTION_BACKEND_VARIABLE}={}: vLLM 0.13 refuses it beside --attention-backend; remove it",
                named(self.target),
                quoted(backend)
            ));
        }
        let config = match self.line.effective(&ATTENTION_CONFIG) {
            Some(FlagUse::Text(text)) => serde_json::from_str(&text).unwrap_or(Value::Null),
            Some(FlagUse::Dotted(config)) => config,
            _ => Value::Null,
        };
        match config {
            Value::Object(mut members) if members.get("backend").is_some_and(|backend| !backend.is_null()) => {
                members.insert("backend".to_owned(), Value::from(BACKEND));
                self.set(&ATTENTION_CONFIG, &Value::Object(members).to_string())
            }
            _ => self.set(&ATTENTION_BACKEND, BACKEND),
        }
    }

    /// The edit, unless this vLLM does not know the flag: it would exit over it.
    fn known(&self, edit: Edit, warnings: &mut Vec<String>) -> Option<Edit> {
        let Some((vllm, advice)) = self.releases.without_flag(word(&edit)) else {
            return Some(edit);
        };
        warnings.push(format!(
            "vLLM {vllm} knows no {}: left out, though CacheBlend needs it; {advice}",
            word(&edit)
        ));
        None
    }

    fn behind_connection(&self, warnings: &mut Vec<String>) -> Vec<Edit> {
        let full = self.list == CacheblendArguments::Full;
        let mut edits = vec![self.switch(&ENABLE_CHUNKED_PREFILL, false)];
        if full {
            edits.push(self.set(&BLOCK_SIZE, BLOCK));
        }
        edits.push(self.set(&PIPELINE_PARALLEL_SIZE, "1"));
        if full {
            edits.push(self.switch(&ASYNC_SCHEDULING, false));
        }
        match self.cudagraph {
            Some(Cudagraph::Piecewise) => {
                edits.extend(self.no_eager());
                warnings.extend(self.other_graphs());
            }
            Some(Cudagraph::FullDecodeOnly) => {
                edits.extend(self.no_eager());
                edits.push(self.set(&COMPILATION_CONFIG, r#"{"cudagraph_mode":"FULL_DECODE_ONLY"}"#));
            }
            Some(Cudagraph::Eager) | None => edits.push(self.switch(&ENFORCE_EAGER, true)),
        }
        edits
    }

    /// Eager mode captures no graphs: where the engine asks for them, the user's flag is turned round. It is not added.
    fn no_eager(&self) -> Option<Edit> {
        self.line
            .effective(&ENFORCE_EAGER)
            .is_some()
            .then(|| self.switch(&ENFORCE_EAGER, false))
    }

    /// The warning where the engine wants piecewise graphs, which are set by setting nothing, and the user others.
    fn other_graphs(&self) -> Option<String> {
        let config = match self.line.effective(&COMPILATION_CONFIG)? {
            FlagUse::Text(text) => serde_json::from_str(&text).unwrap_or(Value::Null),
            FlagUse::Dotted(config) => config,
            _ => Value::Null,
        };
        let mode = config.get("cudagraph_mode")?.as_str()?.to_owned();
        (mode != "PIECEWISE").then(|| {
            format!(
                "container {} has cudagraph_mode {} of its own, and the engine wants piecewise graphs; remove it",
                named(self.target),
                quoted(&mode)
            )
        })
    }

    fn set(&self, flag: &'static Flag, value: &str) -> Edit {
        Edit::SetFlag {
            container: self.index,
            flag,
            value: value.to_owned(),
        }
    }

    fn switch(&self, flag: &'static Flag, on: bool) -> Edit {
        Edit::SetSwitch {
            container: self.index,
            flag,
            on,
        }
    }
}

/// One warning for each flag of the user's that `edits` replace.
fn replaced(edits: &[Edit], pod: &Value, target: &Value, warnings: &mut Vec<String>) {
    for edit in edits {
        let old = edit.replaces(pod);
        if old.is_empty() {
            continue;
        }
        warnings.push(format!(
            "container {}: {} replaces {}, as CacheBlend needs it",
            named(target),
            wanted(edit),
            quoted(&old.join(" "))
        ));
    }
}

/// What an edit leaves on the command line.
fn wanted(edit: &Edit) -> String {
    match edit {
        Edit::SetFlag { value, .. } => format!("{} {value}", word(edit)),
        _ => word(edit).to_owned(),
    }
}

/// The flag of an edit as it is written.
fn word(edit: &Edit) -> &'static str {
    match edit {
        Edit::SetSwitch { flag, on: false, .. } => flag.opposites.first().map_or(flag.name, |opposite| opposite.name),
        Edit::SetFlag { flag, .. } | Edit::SetSwitch { flag, .. } => flag.name,
        _ => "",
    }
}

/// Tokens per block that vLLM will run with, as far as the command line says.
pub(super) fn block_size(line: &CommandLine<'_>, list: Option<CacheblendArguments>) -> Option<i64> {
    if list == Some(CacheblendArguments::Full) {
        return BLOCK.parse().ok();
    }
    match line.effective(&BLOCK_SIZE) {
        Some(FlagUse::Text(text)) => text.trim().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::super::compatibility::Packed;
    use super::*;
    use serde_json::json;

    /// The flags that are set in a container with every flag set otherwise, and the warnings about those that are not.
    fn planned(vllm: &str, cudagraph: Option<Cudagraph>, args: &[&str]) -> (Vec<&'static str>, Vec<String>) {
        let pod = json!({"spec": {"containers": [{"name": "vllm", "args": args}]}});
        let target = &pod["spec"]["containers"][0];
        let mut warnings = Vec::new();
        let arguments = Arguments {
            index: 0,
            list: CacheblendArguments::Full,
            releases: Releases {
                vllm: Packed::from_tag(vllm),
                ..Releases::default()
            },
            cudagraph,
            target,
            line: &CommandLine::of(target),
        };
        let planned = arguments.plan(&pod, &mut warnings).expect("the line can be edited");
        let edits = planned.before_connection.iter().chain(&planned.behind_connection);
        warnings.retain(|warning| warning.contains("knows no"));
        (edits.map(word).collect(), warnings)
    }

    #[test]
    fn every_flag_that_is_set_is_in_the_list_of_those_whose_releases_were_read() {
        let data: Value = serde_json::from_str(include_str!("../../data/clients.json")).expect("clients.json is JSON");
        let rows = data["flags"].as_array().expect("a list");
        let read = |flag: &str| rows.iter().any(|row| row["flag"] == flag);
        let mut set = vec![pod_edit::args::KV_TRANSFER_CONFIG.name];
        for cudagraph in [None, Some(Cudagraph::FullDecodeOnly), Some(Cudagraph::Piecewise)] {
            set.extend(planned("0.33.0", cudagraph, &["--enforce-eager"]).0);
            set.extend(
                planned(
                    "0.33.0",
                    cudagraph,
                    &["--attention-config", r#"{"backend":"FLASHINFER"}"#],
                )
                .0,
            );
        }
        for flag in &set {
            assert!(read(flag), "{flag} is not in tools/releases/clients.toml, flags");
        }
        for flag in [
            "--no-enforce-eager",
            "--attention-config",
            "--compilation-config",
            "--no-async-scheduling",
        ] {
            assert!(
                set.contains(&flag),
                "{flag} is not set by these cases any more: {set:?}"
            );
        }
    }

    #[test]
    fn a_flag_that_this_vllm_does_not_know_is_left_out_with_a_warning() {
        let (set, warnings) = planned("0.12.0", None, &[]);
        assert!(
            !set.contains(&"--attention-backend") && set.contains(&"--block-size"),
            "{set:?}"
        );
        assert_eq!(
            warnings,
            [
                "vLLM 0.12.0 knows no --attention-backend: left out, though CacheBlend needs it; use vLLM 0.13.0 or newer"
            ]
        );
        for known in ["0.13.0", "0.999.0", ""] {
            let (set, warnings) = planned(known, None, &[]);
            assert!(set.contains(&"--attention-backend") && warnings.is_empty(), "{known}");
        }
        // Before what was read, as in the oldest that was.
        assert_eq!(planned("0.10.2", None, &[]).1.len(), 1);
    }
}
