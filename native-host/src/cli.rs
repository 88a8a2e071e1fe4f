//! The command line: what can be asked, and the exit codes that answer.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::commands;

/// An LLM routing engine: decides which deployment serves each request, when to try another, and
/// when to say no.
#[derive(Debug, Parser)]
#[command(name = "pointsman", version, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 all is well; 1 something was found (a faulty config, a \
failed scenario, a server that could not start); 2 the command line was not understood.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Run an upstream that speaks OpenAI's protocol and misbehaves as told
    Mock(MockArgs),
}

/// `pointsman mock`
#[derive(Args, Debug)]
pub(crate) struct MockArgs {
    /// Where to listen; port 0 picks a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9001")]
    pub(crate) listen: SocketAddr,
    /// The name it puts in its answers
    #[arg(long, default_value = "mock")]
    pub(crate) name: String,
    /// The fault script: a YAML file in the words of a scenario's `upstreams`
    #[arg(long, value_name = "FILE", conflicts_with = "fault")]
    pub(crate) script: Option<PathBuf>,
    /// One fault, always, such as 'status=429 retry_after=2s' or 'kind=reset at_token=40'
    #[arg(long, value_name = "WORDS")]
    pub(crate) fault: Option<String>,
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Mock(args) => commands::mock::run(&args),
    }
}
