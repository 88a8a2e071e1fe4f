//! The command line: what can be asked, and the exit codes that answer.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::commands;
use crate::rfc3339;

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
    /// Run the gateway. Without a config, keys in the usual environment variables decide what it serves
    Serve(ServeArgs),
    /// Report every fault of a config, with its place and a remedy; touches no network
    Check(CheckArgs),
    /// Say which deployment a request would go to, and why every other one would not; sends nothing
    Explain(ExplainArgs),
    /// Run scenario files: unit tests for routing, on a virtual clock
    Test(TestArgs),
    /// Execute a journal again, and name the first decision that comes out otherwise
    Replay(ReplayArgs),
    /// Count how a journal's calls would have been decided first under another config
    WhatIf(WhatIfArgs),
    /// Sum up usage logs: calls, tokens and cost, by key, model, label or day
    Usage(UsageArgs),
    /// Make keys for clients, and the lines of the config that let them in
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Run an upstream that speaks every provider's protocol and misbehaves as told
    ///
    /// It answers on the paths of OpenAI, Azure, Anthropic, Gemini and Bedrock, all at once. A user
    /// who says "use the tool" (or "the tools") gets it called. `POST /script` replaces the fault
    /// script, `GET /seen` counts what came, `GET /seen/requests` shows the heads of the last
    /// requests, and `GET /seen/body/N` the exact body of one, the last being 0.
    Mock(MockArgs),
}

/// `pointsman serve`
#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// The config file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Where clients connect; overrides `server.listen`
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,
    /// Where health and metrics are; overrides `server.admin`
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) admin: Option<SocketAddr>,
    /// How the log is written to standard error
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log: LogFormat,
}

/// How the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// One line of text per event
    Text,
    /// One JSON object per event
    Json,
}

/// `pointsman check`
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// The config file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Print the findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `pointsman explain`
#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// The config file; without it, what `serve` would run with
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The model name a client would send
    #[arg(long, required_unless_present = "body")]
    pub(crate) model: Option<String>,
    /// A chat request to take the facts from: a file, or `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) body: Option<PathBuf>,
    /// Input tokens, without tools
    #[arg(long, value_name = "N")]
    pub(crate) input_tokens: Option<u64>,
    /// Tokens of tool definitions
    #[arg(long, value_name = "N")]
    pub(crate) tools_tokens: Option<u64>,
    /// The most output tokens the client allows
    #[arg(long, value_name = "N")]
    pub(crate) max_output_tokens: Option<u64>,
    /// The answer is to be streamed
    #[arg(long)]
    pub(crate) stream: bool,
    /// What the model must be able to do, such as `tools,vision`
    #[arg(long, value_name = "CAPABILITIES", value_delimiter = ',')]
    pub(crate) needs: Vec<String>,
    /// A tag the member must carry; may be repeated
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// The only region that may serve
    #[arg(long)]
    pub(crate) region: Option<String>,
    /// The name of the key that asks; without it nobody's rights and limits apply
    #[arg(long, value_name = "NAME")]
    pub(crate) key: Option<String>,
    /// The seed of the decision, where chance has a part
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print the decision as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `pointsman test`
#[derive(Args, Debug)]
pub(crate) struct TestArgs {
    /// Scenario files
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Print the whole result as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print every decision
    #[arg(long)]
    pub(crate) trace: bool,
}

/// `pointsman replay`
#[derive(Args, Debug)]
pub(crate) struct ReplayArgs {
    /// The journal, as `state.journal` has it written
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `pointsman what-if`
#[derive(Args, Debug)]
pub(crate) struct WhatIfArgs {
    /// The journal, as `state.journal` has it written
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The other config
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `pointsman usage`
#[derive(Args, Debug)]
pub(crate) struct UsageArgs {
    /// Usage logs, as `metering.usage_log` has them written
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// What to sum up by: key, team, organisation, model, group, deployment, provider, outcome,
    /// hour, day, month, or the name of a label
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "key")]
    pub(crate) by: Vec<String>,
    /// Only calls that began at or after this time, such as 2026-11-29 or 2026-11-29T22:00 (UTC)
    #[arg(long, value_name = "TIME", value_parser = rfc3339::beginning)]
    pub(crate) since: Option<String>,
    /// Only calls that began before it
    #[arg(long, value_name = "TIME", value_parser = rfc3339::beginning)]
    pub(crate) until: Option<String>,
    /// Print the sums as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `pointsman keys`
#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Make a key: prints it, once, and the line of the config that lets it in
    New {
        /// The key's name in the config
        #[arg(value_name = "NAME", default_value = "my-app")]
        name: String,
    },
    /// Print the hash of a key that is read from standard input, never from the command line
    Hash,
    /// List the keys of a running gateway
    List {
        #[command(flatten)]
        admin: AdminArgs,
    },
    /// Make a key in a running gateway's store, and print it, once
    Make {
        /// The key's name
        #[arg(value_name = "NAME")]
        name: String,
        /// What the config would say of it, such as '{"team":"growth","expires":"2027-01-01"}'
        #[arg(long, value_name = "JSON", default_value = "{}")]
        entry: String,
        #[command(flatten)]
        admin: AdminArgs,
    },
    /// Make another key in the place of one of the store, which is valid for a while longer
    Rotate {
        /// The key's name
        #[arg(value_name = "NAME")]
        name: String,
        /// How long the old key is valid yet; 0s ends it now
        #[arg(long, value_name = "TIME", default_value = "1h")]
        grace: String,
        #[command(flatten)]
        admin: AdminArgs,
    },
    /// Say from when on a key of the store is not valid any more
    Expire {
        /// The key's name
        #[arg(value_name = "NAME")]
        name: String,
        /// When, such as 2027-01-01T00:00:00Z or 2027-01-01 (UTC)
        #[arg(long, value_name = "TIME")]
        at: String,
        #[command(flatten)]
        admin: AdminArgs,
    },
    /// Let a key of the store in no more, from now on
    Revoke {
        /// The key's name
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        admin: AdminArgs,
    },
}

/// Where a running gateway is. Its token is taken from `POINTSMAN_ADMIN_TOKEN`.
#[derive(Args, Debug)]
pub(crate) struct AdminArgs {
    /// The gateway's admin listener
    #[arg(long, value_name = "ADDRESS", default_value = "http://127.0.0.1:9090")]
    pub(crate) admin: String,
    /// Certificates to trust besides the well-known roots, as PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<String>,
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
        Command::Serve(args) => commands::serve::run(&args),
        Command::Check(args) => commands::check::run(&args),
        Command::Explain(args) => commands::explain::run(&args),
        Command::Test(args) => commands::test::run(&args),
        Command::Replay(args) => commands::replay::run(&args),
        Command::WhatIf(args) => commands::replay::compare(&args),
        Command::Usage(args) => commands::usage::run(&args),
        Command::Keys(command) => commands::keys::run(&command),
        Command::Mock(args) => commands::mock::run(&args),
    }
}
