//! Reads recorded traffic: a CSV of `arrival_ms,input_tokens,output_tokens` and, if need be,
//! `prefix_blocks`, the ids of the blocks that the input begins with, in which `3-7 12` stands for
//! 3, 4, 5, 6, 7, 12.

use crate::config::Value;
use crate::node::Node;
use crate::scenario::Load;

const COLUMNS: &str = "arrival_ms,input_tokens,output_tokens";
/// Blocks of one call.
const MOST_BLOCKS: usize = 10_000;

/// One recorded call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Recorded {
    /// Milliseconds since the recording began.
    pub(super) arrival_ms: u64,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) prefix: Vec<u64>,
}

/// The first rows of the file that the value names.
pub(super) fn recorded(value: &Value<'_>, load: Load<'_>, most: usize) -> Option<Vec<Recorded>> {
    let path = value.text()?;
    let text = match load(&path) {
        Ok(Node::Text(text)) => text,
        Ok(_) => {
            value.fault(format!("`{path}` is no CSV"));
            return None;
        }
        Err(why) => {
            value.fault(format!("cannot be read: {why}"));
            return None;
        }
    };
    match rows(&text, most) {
        Ok(rows) => Some(rows),
        Err(why) => {
            value.fault(format!("`{path}` {why}"));
            None
        }
    }
}

fn rows(text: &str, most: usize) -> Result<Vec<Recorded>, String> {
    let mut lines = text.lines().map(str::trim_end);
    let has_blocks = match lines.next().and_then(|header| header.strip_prefix(COLUMNS)) {
        Some("") => false,
        Some(",prefix_blocks") => true,
        _ => return Err(format!("does not begin with `{COLUMNS}`")),
    };
    let numbered = (2_u64..).zip(lines).filter(|(_, line)| !line.is_empty());
    let read = |(number, line)| {
        row(line, has_blocks).ok_or_else(|| format!("holds no call in line {number}"))
    };
    numbered.take(most).map(read).collect()
}

fn row(line: &str, has_blocks: bool) -> Option<Recorded> {
    let mut cells = line.split(',');
    let mut number = || cells.next()?.parse().ok();
    let (arrival_ms, input_tokens, output_tokens) = (number()?, number()?, number()?);
    let prefix = if has_blocks { blocks(cells.next()?)? } else { Vec::new() };
    let row = Recorded { arrival_ms, input_tokens, output_tokens, prefix };
    cells.next().is_none().then_some(row)
}

fn blocks(cell: &str) -> Option<Vec<u64>> {
    let mut all = Vec::new();
    for run in cell.split(' ').filter(|run| !run.is_empty()) {
        let (first, last) = run.split_once('-').unwrap_or((run, run));
        for id in first.parse::<u64>().ok()?..=last.parse().ok()? {
            if all.len() >= MOST_BLOCKS {
                return None;
            }
            all.push(id);
        }
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_written_in_runs() {
        let call = |prefix| Recorded { arrival_ms: 7, input_tokens: 5, output_tokens: 3, prefix };
        assert_eq!(row("7,5,3", false), Some(call(Vec::new())));
        assert_eq!(row("7,5,3,0-3 9", true), Some(call(vec![0, 1, 2, 3, 9])));
        assert_eq!(row("7,5,3,", true), Some(call(Vec::new())));
    }

    #[test]
    fn what_is_no_call_is_refused() {
        for line in ["", "7,5", "7,5,x", "7,5,-3", "7,5,3,4"] {
            assert_eq!(row(line, false), None, "{line}");
        }
        for line in ["7,5,3", "7,5,3,a", "7,5,3,0-18446744073709551615"] {
            assert_eq!(row(line, true), None, "{line}");
        }
        let text = format!("{COLUMNS}\r\n1,2,3\r\n\r\n4,5\r\n");
        assert_eq!(rows(&text, 1).map(|rows| rows.len()), Ok(1));
        assert_eq!(rows(&text, 9), Err("holds no call in line 4".to_owned()));
    }
}
