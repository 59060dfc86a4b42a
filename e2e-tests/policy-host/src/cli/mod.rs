//! The `policy-host` command.

mod annotate;
mod check;
mod demo;
mod inspect;
mod run;
mod scaffold;
mod serve;
mod stdout;
mod webhooks;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Runs Kubewarden policies without a cluster and without kwctl.
///
/// For tests and demonstrations. The commands read and print what the commands of the same name of kwctl do; in
/// production use kwctl and Kubewarden's policy-server.
#[derive(Debug, Parser)]
#[command(name = "policy-host", version, max_term_width = 120)]
struct Cli {
    /// Also show debug records of the guest and every host call.
    #[arg(short, long, global = true)]
    verbose: bool,
    /// No colours.
    #[arg(long, global = true)]
    no_color: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Evaluate one request, as `kwctl run`.
    Run(run::Args),
    /// Write metadata into a policy, as `kwctl annotate`; metadata that is already there is replaced.
    Annotate(annotate::Args),
    /// Show the metadata of a policy and its size.
    Inspect(inspect::Args),
    /// Check manifests against the modules they name. (Not in kwctl.)
    Check(check::Args),
    /// Generate files from metadata, as `kwctl scaffold`.
    #[command(subcommand)]
    Scaffold(scaffold::Args),
    /// Run the steps of DIR/demo.yaml and report.
    #[command(after_help = crate::demo::FORMAT)]
    Demo(demo::Args),
    /// Serve the policies of manifests as an admission webhook, for tests and development. (Not in kwctl.)
    Serve(serve::Args),
    /// Print, apply or delete the webhook configurations for manifests. (Not in kwctl.)
    Webhooks(webhooks::Args),
}

/// Parses the arguments and runs the command. Errors are one line on stderr and exit code 1.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Run(args) => run::run(&args, cli.verbose),
        Command::Annotate(args) => annotate::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Scaffold(args) => scaffold::run(&args),
        Command::Demo(args) => demo::run(&args, cli.no_color),
        Command::Serve(args) => serve::run(&args, cli.verbose),
        Command::Webhooks(args) => webhooks::run(&args),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            let text = format!("{error:#}");
            let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            to_stderr(&format!("Error: {}", lines.join("; ")));
            ExitCode::FAILURE
        }
    }
}

/// Nothing can be done about a closed stderr.
fn to_stderr(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Prints a result; a reader that went away (`| head`) is no error.
fn to_stdout(text: &str) -> anyhow::Result<()> {
    write_all(&mut std::io::stdout(), text)
}

fn write_all(out: &mut impl Write, text: &str) -> anyhow::Result<()> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(anyhow::anyhow!("cannot write the result: {e}")),
        _ => Ok(()),
    }
}
