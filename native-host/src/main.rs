//! The `pointsman` binary: everything is in the library beside it.

fn main() -> std::process::ExitCode {
    pointsman::main()
}
