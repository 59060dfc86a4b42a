//! The `lmcache-controller` command; what it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    lmcache_controller::cli::main()
}
