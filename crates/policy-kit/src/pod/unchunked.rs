//! What vLLM does not start with once chunked prefill is off.
//!
//! vLLM checks both while it builds its configuration: without chunks one scheduling step must hold a prompt of full length,
//! and only one prompt can be in it.

use super::outcome::Skip;
use super::reasons::SkipReason;
use super::target::named;
use pod_edit::args::{CommandLine, Flag, FlagUse, MAX_MODEL_LEN, MAX_NUM_BATCHED_TOKENS, MAX_NUM_PARTIAL_PREFILLS};
use serde_json::Value;

/// Refuses a line with which vLLM would exit, and warns of one with which it may.
pub(super) fn check(line: &CommandLine<'_>, target: &Value, warnings: &mut Vec<String>) -> Result<(), Skip> {
    let conflict = |what: String, remedy: &str| {
        let problem = format!(
            "container {} {what}, and CacheBlend needs chunked prefill off",
            named(target)
        );
        Err(Skip::new(SkipReason::CommandOverride, problem, remedy))
    };
    if let Some(prefills) = number(line, &MAX_NUM_PARTIAL_PREFILLS).filter(|prefills| *prefills > 1) {
        return conflict(format!("has --max-num-partial-prefills {prefills}"), "remove that flag");
    }
    let Some(tokens) = number(line, &MAX_NUM_BATCHED_TOKENS) else {
        return Ok(());
    };
    match number(line, &MAX_MODEL_LEN) {
        Some(length) if tokens < length => conflict(
            format!("has --max-num-batched-tokens {tokens}, less than --max-model-len {length}"),
            "raise it to the model's length or remove it",
        ),
        Some(_) => Ok(()),
        None => {
            warnings.push(format!(
                "container {} has --max-num-batched-tokens {tokens}: without chunked prefill vLLM exits if the model's length is larger; raise or remove it",
                named(target)
            ));
            Ok(())
        }
    }
}

/// The value of a flag as vLLM reads it: `8192`, `8k` (thousands) or `8K` (1024s); `None` where it is not there or anything
/// else, `auto` for instance.
fn number(line: &CommandLine<'_>, flag: &Flag) -> Option<u64> {
    let Some(FlagUse::Text(text)) = line.effective(flag) else {
        return None;
    };
    let text = text.trim();
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match text.get(digits.len()..)? {
        "" => 1,
        "k" => 1000,
        "K" => 1 << 10,
        "m" => 1_000_000,
        "M" => 1 << 20,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;
    use serde_json::json;

    /// Whether the line is refused, and how many warnings there are.
    fn checked(args: &[&str]) -> (bool, usize) {
        let container = json!({"name": "vllm", "args": args});
        let mut warnings = Vec::new();
        let refused = check(&CommandLine::of(&container), &container, &mut warnings).is_err();
        (refused, warnings.len())
    }

    #[test]
    fn a_step_must_hold_a_prompt() {
        for (args, expected) in [
            (&["--model", "m"][..], (false, 0)),
            (
                &["--max-num-batched-tokens", "8192", "--max-model-len", "32768"],
                (true, 0),
            ),
            (&["--max-num-batched-tokens=8k", "--max-model-len=8000"], (false, 0)),
            (&["--max-num-batched-tokens=8k", "--max-model-len=8K"], (true, 0)),
            (&["--max_num_batched_tokens", "8192"], (false, 1)),
            (
                &["--max-num-batched-tokens", "8192", "--max-model-len", "auto"],
                (false, 1),
            ),
            (&["--max-num-batched-tokens", "many"], (false, 0)),
            (&["--max-num-batched-tokens", "99999999999999999999k"], (false, 0)),
            (&["--max-model-len", "32768"], (false, 0)),
        ] {
            assert_eq!(checked(args), expected, "{args:?}");
        }
    }

    #[test]
    fn only_one_prompt_at_a_time() {
        assert_eq!(checked(&["--max-num-partial-prefills", "2"]), (true, 0));
        assert_eq!(checked(&["--max-num-partial-prefills=1"]), (false, 0));
    }
}
