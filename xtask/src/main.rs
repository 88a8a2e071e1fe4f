//! Builds, tests and measures Pointsman. The only build script: `cargo xtask COMMAND`.

mod bench;
mod command;
mod count;
mod deny;
mod fuzz;
mod release;
mod setup;
mod stamp;
mod test;
mod tidy;
mod tool;
mod wasm;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  setup                       install what the tests need inside this folder; skips what is there
  test [--long] [--only STEP] everything that must hold, step by step
  wasm                        build the npm package into wasm/js/dist
  fuzz TARGET [SECONDS]       look for inputs that break a target; 60 seconds if not said
  bench                       run the benchmarks
  release [TARGET]            the binary as it is shipped: optimised and stripped
  tidy                        check the repository itself";

/// An error for a person: what went wrong and what to do about it.
type Result<T = ()> = std::result::Result<T, String>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result {
    let Some((name, rest)) = arguments.split_first() else {
        return Err(format!("no command given\n\n{USAGE}"));
    };
    match name.as_str() {
        "test" => test::run(&test::Options::parse(rest)?),
        "setup" => bare(rest).and_then(|()| setup::run()),
        "wasm" => bare(rest).and_then(|()| wasm::run()),
        "fuzz" => fuzz::run(rest),
        "bench" => bare(rest).and_then(|()| bench::run()),
        "release" => release::run(rest),
        "tidy" => bare(rest).and_then(|()| tidy::run()),
        "help" | "--help" | "-h" => {
            println!("{USAGE}");
            Ok(())
        }
        other => Err(format!("unknown command `{other}`\n\n{USAGE}")),
    }
}

fn bare(rest: &[String]) -> Result {
    match rest.first() {
        Some(argument) => Err(format!("this command takes no argument, and got `{argument}`")),
        None => Ok(()),
    }
}
