//! `pointsman check`

use std::process::ExitCode;

use pointsman_core::{Capability, ConfigFault, Known, Loaded, Vocabulary};
use serde_json::{Value, json};

use super::{failed, serve};
use crate::cli::CheckArgs;
use crate::document::Source;
use crate::known::{self, usd, usd_per_thousand};
use crate::live::Means;

/// Prints every fault, or, of a config without one, what is still worth knowing.
pub(crate) fn run(args: &CheckArgs) -> ExitCode {
    let source = match Source::read(Some(&args.file)) {
        Ok(source) => source,
        Err(problem) => return failed(problem),
    };
    let loaded = source.load().and_then(|loaded| {
        // A file that a start needs is missed here already.
        Means::of(&loaded.config, None).map(|_| loaded)
    });
    if args.json {
        println!("{:#}", as_json(&loaded));
    } else {
        match &loaded {
            Ok(loaded) => print_notes(loaded, &source.name),
            Err(faults) => print_faults(faults, &source.name),
        }
    }
    if loaded.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn print_faults(faults: &[ConfigFault], name: &str) {
    for fault in faults {
        println!("error: {fault}");
    }
    let count = faults.len();
    let word = if count == 1 { "fault" } else { "faults" };
    println!("{name}: {count} {word}");
}

fn print_notes(loaded: &Loaded, name: &str) {
    for warning in &loaded.warnings {
        println!("warning: {}: {} ({})", warning.path, warning.message, warning.name);
    }
    print_known(&loaded.known);
    let not_built: Vec<_> = serve::not_built(loaded).collect();
    for note in &not_built {
        let serve = if note.restricts { "; `serve` refuses to start with it" } else { "" };
        println!("not built: {}: {}{serve}", note.path, note.instead);
    }
    let catalog = &loaded.catalog;
    println!(
        "{name}: ok, {} deployments in {} groups, {} warnings, {} keys not built",
        catalog.deployments().count(),
        catalog.groups().count(),
        loaded.warnings.len(),
        not_built.len()
    );
}

/// One line for each deployment, however many models it serves.
fn print_known(known: &[Known]) {
    for of_one in known.chunk_by(|one, next| one.deployment == next.deployment) {
        let (models, own): (Vec<_>, Vec<_>) = of_one.iter().partition(|one| one.model.is_some());
        for known in own {
            println!("known: {}: {} (table of {})", known.path, known_words(known), Known::as_of());
        }
        let priced = models.iter().filter(|one| one.price.is_some()).count();
        if let [first, ..] = models.as_slice() {
            println!(
                "known: {}: {} models, {priced} with a price, such as {}: {} (table of {})",
                first.path,
                models.len(),
                first.model.as_deref().unwrap_or_default(),
                known_words(first),
                Known::as_of()
            );
        }
    }
}

/// What the table of models has filled in, as the configuration would say it.
fn known_words(known: &Known) -> String {
    let Known { supports, price, vocabulary, .. } = known;
    let sizes =
        [("context_tokens", supports.context_tokens), ("output_tokens", supports.output_tokens)];
    let sizes = sizes.into_iter().filter_map(|(name, size)| Some(format!("{name} {}", size?)));
    let words = sizes.chain(abilities(known).map(|one| one.name().to_owned()));
    let search = price.and_then(|price| price.search);
    let price = price.map(|price| format!("price {} / {}", usd(price.input), usd(price.output)));
    let search = search.map(|search| format!("search {}", usd_per_thousand(search)));
    let vocabulary = vocabulary.map(|own| format!("vocabulary {}", own.name()));
    words.chain(price).chain(search).chain(vocabulary).collect::<Vec<_>>().join(", ")
}

fn abilities(known: &Known) -> impl Iterator<Item = Capability> {
    let supports = known.supports;
    Capability::ALL.into_iter().filter(move |one| supports.has(*one) == Some(true))
}

fn known_json(known: &Known) -> Value {
    let Known { path, model, supports, price, vocabulary, .. } = known;
    json!({
        "path": path,
        "model": model,
        "as_of": Known::as_of(),
        "supports": abilities(known).map(Capability::name).collect::<Vec<_>>(),
        "context_tokens": supports.context_tokens,
        "output_tokens": supports.output_tokens,
        "vocabulary": vocabulary.map(Vocabulary::name),
        "price": price.as_ref().map(known::price),
    })
}

fn as_json(loaded: &Result<Loaded, Vec<ConfigFault>>) -> Value {
    match loaded {
        Ok(loaded) => {
            let warnings = loaded.warnings.iter().map(|warning| {
                json!({ "path": warning.path, "name": warning.name, "message": warning.message })
            });
            let not_built = serve::not_built(loaded).map(|note| {
                json!({ "path": note.path, "restricts": note.restricts, "instead": note.instead })
            });
            json!({
                "ok": true,
                "faults": [],
                "warnings": warnings.collect::<Vec<_>>(),
                "not_built": not_built.collect::<Vec<_>>(),
                "known": loaded.known.iter().map(known_json).collect::<Vec<_>>(),
            })
        }
        Err(faults) => {
            let faults = faults.iter().map(|fault| {
                json!({
                    "path": fault.path,
                    "message": fault.message,
                    "suggestion": fault.suggestion,
                })
            });
            json!({
                "ok": false,
                "faults": faults.collect::<Vec<_>>(),
                "warnings": [],
                "not_built": [],
                "known": [],
            })
        }
    }
}
