//! `pointsman usage`

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::process::ExitCode;

use serde_json::{Value, json};

use super::failed;
use crate::cli::UsageArgs;
use crate::usage::UsageRecord;

/// What so many calls add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    calls: u64,
    /// Calls that ended otherwise than served.
    failed: u64,
    input: u64,
    cached_input: u64,
    cache_write: u64,
    output: u64,
    reasoning: u64,
    searches: u64,
    cost_nano_usd: u64,
    /// Calls whose tokens are reckoned.
    estimated: u64,
    /// Calls that used something without a price: the cost lacks it.
    unpriced: u64,
}

type Sums = BTreeMap<Vec<String>, Sum>;

/// Prints the sums.
pub(crate) fn run(args: &UsageArgs) -> ExitCode {
    match check(args).and_then(|()| sums(args)) {
        Ok((sums, unread)) => {
            if unread > 0 {
                eprintln!("note: {unread} lines are no usage records, and are left out");
            }
            for name in unknown(&args.by, &sums) {
                eprintln!("note: no record has a `{name}`");
            }
            if args.json {
                println!("{:#}", as_json(&args.by, &sums));
            } else {
                print!("{}", table(&args.by, &sums));
            }
            ExitCode::SUCCESS
        }
        Err(problem) => failed(problem),
    }
}

/// Names that would split the calls, and that no record has.
fn unknown<'a>(by: &'a [String], sums: &Sums) -> impl Iterator<Item = &'a String> {
    let has = |at: usize| sums.keys().any(|names| names.get(at).is_some_and(|one| one != "-"));
    by.iter().enumerate().filter(move |(at, _)| !sums.is_empty() && !has(*at)).map(|(_, name)| name)
}

/// The sums as a document, for programs.
///
/// # Errors
/// A file cannot be read; the text names it.
pub(crate) fn summary(args: &UsageArgs) -> Result<Value, String> {
    sums(args).map(|(sums, _)| as_json(&args.by, &sums))
}

/// Whether the times are such as records have, or the beginning of one.
///
/// # Errors
/// The text names the one that is none.
pub(crate) fn check(args: &UsageArgs) -> Result<(), String> {
    const FORM: &str = "0000-00-00T00:00:00.000Z";
    let like = |(own, form): (char, char)| {
        if form == '0' { own.is_ascii_digit() } else { own == form }
    };
    for (name, time) in [("since", &args.since), ("until", &args.until)] {
        let Some(time) = time else { continue };
        if !(4..=FORM.len()).contains(&time.len()) || !time.chars().zip(FORM.chars()).all(like) {
            let forms = "a time in UTC, such as 2026-11-29 or 2026-11-29T22:00";
            return Err(format!("`{name}` is not {forms}: `{time}`"));
        }
    }
    Ok(())
}

/// The sums, and how many lines could not be read.
///
/// # Errors
/// A file cannot be read, or has lines and none of them is a record; the text names it.
fn sums(args: &UsageArgs) -> Result<(Sums, u64), String> {
    let (mut sums, mut unread) = (Sums::new(), 0);
    for path in &args.files {
        let fault = |error| format!("cannot read `{}`: {error}", path.display());
        let (mut records, before) = (0_u64, unread);
        for line in BufReader::new(File::open(path).map_err(fault)?).split(b'\n') {
            // A line that was torn may end in the middle of a character.
            let line = line.map_err(fault)?;
            let record = serde_json::from_slice::<UsageRecord>(&line);
            records += u64::from(record.is_ok());
            match record {
                Ok(record) if within(args, &record.at) => {
                    let names = args.by.iter().map(|name| value(&record, name)).collect();
                    sums.entry(names).or_default().add(&record);
                }
                Ok(_) => {}
                // Where a torn line was mended there is an empty one.
                Err(_) => unread += u64::from(!line.is_empty()),
            }
        }
        if records == 0 && unread > before {
            return Err(format!("`{}` is no usage log: no line is a record", path.display()));
        }
    }
    Ok((sums, unread))
}

/// Times compare as their texts do, and a shorter one stands for its beginning.
fn within(args: &UsageArgs, at: &str) -> bool {
    args.since.as_deref().is_none_or(|since| at >= since)
        && args.until.as_deref().is_none_or(|until| at < until)
}

/// What a record has under a name; `-` for nothing.
fn value(record: &UsageRecord, name: &str) -> String {
    let time = |length: usize| record.at.get(..length);
    let found = match name {
        "key" => record.key.as_deref(),
        "team" => record.team.as_deref(),
        "organisation" => record.organisation.as_deref(),
        "model" => Some(record.model.as_str()),
        "group" => record.group.as_deref(),
        "deployment" => record.deployment.as_deref(),
        "provider" => record.provider.as_deref(),
        "outcome" => Some(record.outcome.as_str()),
        "hour" => time("2026-11-29T22".len()),
        "day" => time("2026-11-29".len()),
        "month" => time("2026-11".len()),
        label => record.labels.get(&label.to_ascii_lowercase()).map(String::as_str),
    };
    found.unwrap_or("-").to_owned()
}

impl Sum {
    fn add(&mut self, record: &UsageRecord) {
        self.calls += 1;
        self.failed += u64::from(record.outcome != "served");
        self.input = self.input.saturating_add(record.input);
        self.cached_input = self.cached_input.saturating_add(record.cached_input);
        self.cache_write = self.cache_write.saturating_add(record.cache_write);
        self.output = self.output.saturating_add(record.output);
        self.reasoning = self.reasoning.saturating_add(record.reasoning);
        self.searches = self.searches.saturating_add(record.searches);
        self.cost_nano_usd =
            self.cost_nano_usd.saturating_add(record.cost_nano_usd.unwrap_or_default());
        self.estimated += u64::from(record.estimated);
        self.unpriced += u64::from(record.cost_nano_usd.is_none());
    }

    fn plus(self, other: &Self) -> Self {
        Self {
            calls: self.calls + other.calls,
            failed: self.failed + other.failed,
            input: self.input.saturating_add(other.input),
            cached_input: self.cached_input.saturating_add(other.cached_input),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            output: self.output.saturating_add(other.output),
            reasoning: self.reasoning.saturating_add(other.reasoning),
            searches: self.searches.saturating_add(other.searches),
            cost_nano_usd: self.cost_nano_usd.saturating_add(other.cost_nano_usd),
            estimated: self.estimated + other.estimated,
            unpriced: self.unpriced + other.unpriced,
        }
    }

    fn columns(&self) -> [String; 9] {
        let Self { calls, failed, input, cached_input, output, searches, .. } = *self;
        let counts = [calls, failed, input, cached_input, output, searches];
        let [calls, failed, input, cached, output, searches] =
            counts.map(|count| count.to_string());
        let (estimated, unpriced) = (self.estimated.to_string(), self.unpriced.to_string());
        let usd = usd(self.cost_nano_usd);
        [calls, failed, input, cached, output, searches, usd, estimated, unpriced]
    }
}

const COLUMNS: [&str; 9] =
    ["calls", "failed", "input", "cached", "output", "searches", "usd", "estimated", "unpriced"];

/// Dollars, to a millionth.
fn usd(nano: u64) -> String {
    let micro = nano.saturating_add(500) / 1_000;
    format!("{}.{:06}", micro / 1_000_000, micro % 1_000_000)
}

/// The dearest first, and a last line with the sum of all.
fn table(by: &[String], sums: &Sums) -> String {
    let mut all: Vec<_> = sums.iter().collect();
    all.sort_by_key(|(_, sum)| std::cmp::Reverse((sum.cost_nano_usd, sum.calls)));
    let total = all.iter().fold(Sum::default(), |total, (_, sum)| total.plus(sum));
    let header = by.iter().cloned().chain(COLUMNS.map(str::to_owned));
    let mut rows: Vec<Vec<String>> = vec![header.collect()];
    rows.extend(all.iter().map(|(names, sum)| [names.as_slice(), &sum.columns()].concat()));
    let mut last = vec![String::new(); by.len()];
    if let Some(first) = last.first_mut() {
        "all".clone_into(first);
    }
    rows.push([last.as_slice(), &total.columns()].concat());
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..rows[0].len()).map(|column| width(column).unwrap_or(0)).collect();
    let cell = |column: usize, text: &String| match column < by.len() {
        true => format!("{text:<width$}", width = widths[column]),
        false => format!("{text:>width$}", width = widths[column]),
    };
    let line = |row: &Vec<String>| {
        let cells: Vec<String> = row.iter().enumerate().map(|(at, text)| cell(at, text)).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

fn as_json(by: &[String], sums: &Sums) -> Value {
    let rows = sums.iter().map(|(names, sum)| {
        let names: serde_json::Map<String, Value> =
            by.iter().cloned().zip(names.iter().map(|name| json!(name))).collect();
        json!({
            "by": names,
            "calls": sum.calls,
            "failed": sum.failed,
            "input": sum.input,
            "cached_input": sum.cached_input,
            "cache_write": sum.cache_write,
            "output": sum.output,
            "reasoning": sum.reasoning,
            "searches": sum.searches,
            "cost_nano_usd": sum.cost_nano_usd,
            "estimated": sum.estimated,
            "unpriced": sum.unpriced,
        })
    });
    Value::Array(rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dearest_comes_first_and_all_are_summed() {
        let sum = |calls, cost_nano_usd| Sum { calls, cost_nano_usd, ..Sum::default() };
        let sums = Sums::from([
            (vec!["a".into()], sum(10, 1_500)),
            (vec!["long-name".into()], sum(2, 2_000_000_000)),
        ]);
        let table = table(&["key".to_owned()], &sums);
        let lines: Vec<Vec<&str>> =
            table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0][..2], ["key", "calls"]);
        assert_eq!((lines[1][0], lines[1][7]), ("long-name", "2.000000"));
        assert_eq!((lines[2][0], lines[2][7]), ("a", "0.000002"));
        assert_eq!((lines[3][0], lines[3][1], lines[3][7]), ("all", "12", "2.000002"));
    }

    #[test]
    fn a_name_that_no_record_has_is_told() {
        let by = ["team", "x-app", "foo"].map(str::to_owned);
        let row = |names: [&str; 3]| (names.map(str::to_owned).to_vec(), Sum::default());
        let sums = Sums::from([row(["a", "-", "-"]), row(["-", "shop", "-"])]);
        assert_eq!(unknown(&by, &sums).collect::<Vec<_>>(), ["foo"]);
        assert_eq!(unknown(&by, &Sums::new()).count(), 0);
    }

    #[test]
    fn a_line_that_is_torn_within_a_character_costs_no_other() {
        let record = |number| serde_json::to_string(&crate::usage::tests::record(number)).unwrap();
        let torn = &"{\"at\":\"\u{2603}".as_bytes()[..8];
        let file = std::env::temp_dir().join(format!("pointsman-torn-{}", std::process::id()));
        let lines = [record(1).as_bytes(), torn, b"", record(2).as_bytes()].join(&b'\n');
        std::fs::write(&file, lines).unwrap();
        let by = vec!["key".to_owned()];
        let args =
            UsageArgs { files: vec![file.clone()], by, since: None, until: None, json: false };
        let (sums, unread) = sums(&args).unwrap();
        std::fs::remove_file(file).unwrap();
        assert_eq!((sums.values().map(|sum| sum.calls).sum::<u64>(), unread), (2, 1));
    }
}
