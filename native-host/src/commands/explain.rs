//! `pointsman explain`

use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use pointsman_core::{Capability, Needs, Request, Router, Seed, Trace};
use pointsman_wire::{ClientHeaders, Endpoint, Question};

use super::{failed, load, serve};
use crate::cli::ExplainArgs;
use crate::clock::Clock;
use crate::explanation;

/// The largest request that is read, in bytes.
const MAX_BODY: u64 = 64 * 1024 * 1024;

/// Prints where a request would go, and why every other deployment was passed over.
pub(crate) fn run(args: &ExplainArgs) -> ExitCode {
    match explain(args) {
        Ok((trace, config)) if args.json => {
            let view = args.key.as_ref().map_or("operator", |_| "key");
            let view = serde_json::json!({ "view": view, "config": config, "trace": trace });
            println!("{view:#}");
            ExitCode::SUCCESS
        }
        Ok((trace, config)) => {
            print!("{}", explanation::text(&trace));
            match &args.key {
                Some(key) => {
                    println!("(as the key `{key}` of {config}, nothing spent or in flight)")
                }
                None => println!(
                    "(the operator's view of {config}: without a key no caller's rules apply)"
                ),
            }
            ExitCode::SUCCESS
        }
        Err(problem) => failed(problem),
    }
}

fn explain(args: &ExplainArgs) -> Result<(Trace, String), String> {
    let (loaded, name) = load(args.config.as_deref())?;
    let count = serve::not_built(&loaded).count();
    if count > 0 {
        eprintln!(
            "note: {count} keys of {name} are not built and have no part in this; see `check`"
        );
    }
    let mut request = request(args)?;
    if let Some(key) = &args.key {
        let caller = loaded.catalog.caller_named(key);
        let unknown = || format!("--key: {name} has no key of the name `{key}`");
        request.caller = Some(caller.ok_or_else(unknown)?);
    }
    let now = Clock::start().now();
    let router = Router::new(Arc::new(loaded.catalog), now);
    Ok((router.explain(&request, Seed(args.seed), now), name))
}

/// The request's facts: from a body, if there is one, and from flags, which go before it.
fn request(args: &ExplainArgs) -> Result<Request, String> {
    let mut request = match &args.body {
        None => Request::default(),
        Some(path) => {
            let body = read_body(path)?;
            let question = Question::read(Endpoint::Chat, ClientHeaders::default(), &body);
            let question = question.map_err(|fault| format!("--body: {fault}"))?;
            Request { prefix: question.prefix(&body), ..question.facts }
        }
    };
    if let Some(model) = &args.model {
        request.model.clone_from(model);
    }
    request.stream |= args.stream;
    request.input_tokens = args.input_tokens.unwrap_or(request.input_tokens);
    request.tools_tokens = args.tools_tokens.unwrap_or(request.tools_tokens);
    request.max_output_tokens = args.max_output_tokens.or(request.max_output_tokens);
    request.needs = needs(request.needs, &args.needs)?;
    request.tags.extend(args.tags.iter().cloned());
    request.region.clone_from(&args.region);
    Ok(request)
}

fn needs(needs: Needs, words: &[String]) -> Result<Needs, String> {
    words.iter().try_fold(needs, |needs, word| {
        let known = Capability::ALL.into_iter().find(|capability| capability.name() == word);
        known.map(|capability| needs.with(capability)).ok_or_else(|| {
            let all = Capability::ALL.map(Capability::name).join(", ");
            format!("--needs: unknown capability `{word}`; there are {all}")
        })
    })
}

fn read_body(path: &Path) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    let read = if path.as_os_str() == "-" {
        std::io::stdin().take(MAX_BODY).read_to_end(&mut body)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(MAX_BODY).read_to_end(&mut body))
    };
    read.map_err(|error| format!("--body: cannot read `{}`: {error}", path.display()))?;
    Ok(body)
}
