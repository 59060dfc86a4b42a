//! The `policy-host` command; everything it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    policy_host::cli::main()
}
