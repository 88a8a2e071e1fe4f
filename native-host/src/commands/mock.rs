//! `pointsman mock`

use std::process::ExitCode;

use super::{failed, runtime, say};
use crate::cli::MockArgs;
use crate::mock::{Mock, Script};

/// Serves until interrupted.
pub(crate) fn run(args: &MockArgs) -> ExitCode {
    let served = script(args).and_then(|script| {
        runtime()?.block_on(async {
            let bound = Mock::bind(args.listen, &args.name, script).await;
            let mock =
                bound.map_err(|error| format!("cannot listen on `{}`: {error}", args.listen))?;
            let address = mock.address().map_err(|error| error.to_string())?;
            say(&format!("listening on http://{address}\n"));
            mock.run().await;
            Ok(())
        })
    });
    served.map_or_else(failed, |()| ExitCode::SUCCESS)
}

fn script(args: &MockArgs) -> Result<Script, String> {
    if let Some(words) = &args.fault {
        return Script::from_words(words).map_err(|error| format!("--fault: {error}"));
    }
    let Some(path) = &args.script else { return Ok(Script::default()) };
    let place = path.display();
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("cannot read `{place}`: {error}"))?;
    Script::parse(&text).map_err(|error| format!("{place}: {error}"))
}
