//! The flags of `vllm serve` that this project sets or has to understand.

/// How a flag takes its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlagKind {
    /// One value that is JSON. It can also be put together from dotted flags (`--flag.key value`).
    Json,
    /// One value that is text or a number.
    Value,
    /// No value: the flag switches on, its opposites switch off.
    Switch,
}

/// A long name and how short it may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongName {
    /// The whole name, with dashes: `--no-async-scheduling`.
    pub name: &'static str,
    /// The shortest beginning of it that no other flag has.
    pub shortest_prefix: &'static str,
}

impl LongName {
    /// Whether a word, its underscores already turned into dashes, means this name.
    pub(super) fn matches(&self, word: &str) -> bool {
        self.name.starts_with(word) && word.len() >= self.shortest_prefix.len()
    }
}

/// One flag, in all its spellings.
///
/// argparse accepts any beginning of a long name that only one flag has. Which flags there are differs between releases, so
/// the shortest prefixes here are those that no other flag of vLLM 0.11.0 or 0.33.0 begins with. A still shorter one that vLLM
/// finds ambiguous makes it exit, whatever is appended.
#[derive(Debug, PartialEq, Eq)]
pub struct Flag {
    /// The whole name, with dashes: `--kv-transfer-config`.
    pub name: &'static str,
    /// The shortest beginning of it that no other flag has.
    pub shortest_prefix: &'static str,
    /// Short names with one dash: `-tp`. They are never shortened.
    pub aliases: &'static [&'static str],
    /// How it takes its value.
    pub kind: FlagKind,
    /// For a [`FlagKind::Switch`]: the names that switch it off. The first one is known to all releases.
    pub opposites: &'static [LongName],
}

impl Flag {
    /// The name as one of its spellings.
    pub(super) fn long_name(&self) -> LongName {
        LongName {
            name: self.name,
            shortest_prefix: self.shortest_prefix,
        }
    }

    /// How the wanted state of a switch is written so that all releases understand it.
    pub(super) fn switch_word(&self, on: bool) -> Option<&'static str> {
        match (self.kind, on) {
            (FlagKind::Switch, true) => Some(self.name),
            (FlagKind::Switch, false) => self.opposites.first().map(|opposite| opposite.name),
            _ => None,
        }
    }
}

/// `--kv-transfer-config`: which KV connector the engine loads, and its settings.
pub const KV_TRANSFER_CONFIG: Flag = valued("--kv-transfer-config", "--kv-t", FlagKind::Json, &[]);

/// `--block-size`: tokens per block of the paged KV cache.
pub const BLOCK_SIZE: Flag = valued("--block-size", "--bl", FlagKind::Value, &[]);

/// `--tensor-parallel-size`.
pub const TENSOR_PARALLEL_SIZE: Flag = valued("--tensor-parallel-size", "--te", FlagKind::Value, &["-tp"]);

/// `--pipeline-parallel-size`.
pub const PIPELINE_PARALLEL_SIZE: Flag = valued("--pipeline-parallel-size", "--pi", FlagKind::Value, &["-pp"]);

/// `--attention-backend`, from vLLM 0.13.0 on. `--attention-config` is another flag.
pub const ATTENTION_BACKEND: Flag = valued("--attention-backend", "--attention-b", FlagKind::Value, &[]);

/// `--attention-config`: JSON whose member `backend` says the same as [`ATTENTION_BACKEND`]; vLLM refuses both together.
pub const ATTENTION_CONFIG: Flag = valued("--attention-config", "--attention-c", FlagKind::Json, &["-ac"]);

/// `--max-model-len`: tokens of a prompt and its answer.
pub const MAX_MODEL_LEN: Flag = valued("--max-model-len", "--max-model", FlagKind::Value, &[]);

/// `--max-num-batched-tokens`: tokens of one scheduling step. Without chunked prefill it must hold a whole prompt.
pub const MAX_NUM_BATCHED_TOKENS: Flag =
    valued("--max-num-batched-tokens", "--max-num-batched-t", FlagKind::Value, &[]);

/// `--max-num-partial-prefills`: more than one needs chunked prefill.
pub const MAX_NUM_PARTIAL_PREFILLS: Flag = valued(
    "--max-num-partial-prefills",
    "--max-num-partial-p",
    FlagKind::Value,
    &[],
);

/// `--compilation-config`. Its short name is `-cc` from vLLM 0.12.0 on; before it was `-O`, which has since become the
/// optimization level. So `-O` counts only where a JSON object follows, which no level is.
pub const COMPILATION_CONFIG: Flag = valued("--compilation-config", "--com", FlagKind::Json, &["-cc", "-O"]);

/// `--enable-chunked-prefill`. `--disable-chunked-prefill` from vLLM 0.33.0 on; `--disable-chunked-mm-input` is older.
pub const ENABLE_CHUNKED_PREFILL: Flag = switch(
    "--enable-chunked-prefill",
    "--enable-ch",
    &[
        LongName {
            name: "--no-enable-chunked-prefill",
            shortest_prefix: "--no-enable-ch",
        },
        LongName {
            name: "--disable-chunked-prefill",
            shortest_prefix: "--disable-chunked-p",
        },
    ],
);

/// `--async-scheduling`.
pub const ASYNC_SCHEDULING: Flag = switch(
    "--async-scheduling",
    "--as",
    &[LongName {
        name: "--no-async-scheduling",
        shortest_prefix: "--no-as",
    }],
);

/// `--enforce-eager`: no CUDA graphs.
pub const ENFORCE_EAGER: Flag = switch(
    "--enforce-eager",
    "--enf",
    &[LongName {
        name: "--no-enforce-eager",
        shortest_prefix: "--no-enf",
    }],
);

/// `--disable-hybrid-kv-cache-manager`. `--enable-hybrid-kv-cache-manager` from vLLM 0.33.0 on.
pub const DISABLE_HYBRID_KV_CACHE_MANAGER: Flag = switch(
    "--disable-hybrid-kv-cache-manager",
    "--disable-hy",
    &[
        LongName {
            name: "--no-disable-hybrid-kv-cache-manager",
            shortest_prefix: "--no-disable-hy",
        },
        LongName {
            name: "--enable-hybrid-kv-cache-manager",
            shortest_prefix: "--enable-hy",
        },
    ],
);

const fn valued(
    name: &'static str,
    shortest_prefix: &'static str,
    kind: FlagKind,
    aliases: &'static [&'static str],
) -> Flag {
    Flag {
        name,
        shortest_prefix,
        aliases,
        kind,
        opposites: &[],
    }
}

const fn switch(name: &'static str, shortest_prefix: &'static str, opposites: &'static [LongName]) -> Flag {
    Flag {
        name,
        shortest_prefix,
        aliases: &[],
        kind: FlagKind::Switch,
        opposites,
    }
}
