//! Tokens per chunk, as the server will have them.

use crate::EngineSpec;

/// Tokens per chunk of a server that names none.
const DEFAULT_CHUNK_SIZE: i32 = 256;

/// Tokens per chunk of the server as it will run: `extraArgs` win over the field, as on its command line. (They may not
/// repeat a field, but objects that were stored before that rule do.) Default 256.
pub fn chunk_size(spec: &dyn EngineSpec) -> i32 {
    let field = spec.server().and_then(|server| server.chunk_size);
    extra(spec.extra_args()).or(field).unwrap_or(DEFAULT_CHUNK_SIZE)
}

/// The last number given to `--chunk-size`. The server takes the beginning of a flag for the flag where no other begins
/// alike: of this one, from `--ch` on.
fn extra(args: &[String]) -> Option<i32> {
    let mut last = None;
    for (index, arg) in args.iter().enumerate() {
        let (name, value) = match arg.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (arg.as_str(), args.get(index + 1).map(String::as_str)),
        };
        if name.len() >= "--ch".len() && "--chunk-size".starts_with(name) {
            last = value.and_then(|value| value.trim().parse().ok()).or(last);
        }
    }
    last
}
