//! Packages and publishes the policies.

use std::process::ExitCode;

fn main() -> ExitCode {
    publish::cli::main()
}
