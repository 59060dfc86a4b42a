//! The `lmcache-controller` command; what it does is in the modules.

mod cli;
mod flags;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
