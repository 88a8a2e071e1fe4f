//! `pointsman keys`

use std::io::Read as _;
use std::process::ExitCode;

use super::failed;
use crate::cli::KeysCommand;
use crate::keys;

/// The largest key that is read, in bytes.
const LONGEST: u64 = 64 * 1024;

/// Makes a key, or hashes one.
pub(crate) fn run(command: &KeysCommand) -> ExitCode {
    let text = match command {
        KeysCommand::New { name } => keys::new().map(|key| {
            let line = config_line(name, &key);
            format!(
                "key: {key}\nIt is not shown again. Under `callers.keys` of the config:\n{line}"
            )
        }),
        KeysCommand::Hash => read().map(|key| keys::hexadecimal(&keys::hash(&key))),
    };
    match text {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(problem) => failed(problem),
    }
}

fn config_line(name: &str, key: &str) -> String {
    // JSON is YAML, and a name may hold anything.
    let name = serde_json::Value::from(name);
    format!("    {name}: {{ sha256: \"{}\" }}", keys::hexadecimal(&keys::hash(key.as_bytes())))
}

/// The key on standard input, without the line's end.
fn read() -> Result<Vec<u8>, String> {
    let mut key = Vec::new();
    let read = std::io::stdin().take(LONGEST).read_to_end(&mut key);
    read.map_err(|error| format!("cannot read standard input: {error}"))?;
    let key = key.trim_ascii();
    if key.is_empty() {
        return Err("there is no key on standard input".into());
    }
    Ok(key.to_vec())
}
