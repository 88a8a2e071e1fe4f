//! The closing lines of test runners.

/// Tests run so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl Count {
    /// Adds what this line says, if it is a closing line of cargo's, Node's or Python's runner.
    pub(crate) fn read(&mut self, line: &str) {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("test result: ") {
            self.passed += number_before(rest, " passed");
            self.failed += number_before(rest, " failed");
        } else if let Some(number) = after(line, "ℹ pass ") {
            self.passed += number;
        } else if let Some(number) = after(line, "ℹ fail ") {
            self.failed += number;
        } else if let Some(rest) = line.strip_prefix("Ran ") {
            self.passed += number_before(rest, " test");
        } else if let Some(rest) = line.strip_prefix("FAILED (") {
            let failed = number_after(rest, "failures=") + number_after(rest, "errors=");
            self.failed += failed;
            self.passed = self.passed.saturating_sub(failed);
        }
    }

    /// The sum of two counts.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self { passed: self.passed + other.passed, failed: self.failed + other.failed }
    }
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

fn after(line: &str, prefix: &str) -> Option<u64> {
    line.strip_prefix(prefix)?.trim().parse().ok()
}

/// The number that ends just before the first `mark`; 0 if there is none.
fn number_before(line: &str, mark: &str) -> u64 {
    let before = line.split(mark).next().unwrap_or_default();
    before.rsplit(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// The number that starts just after `mark`; 0 if there is none.
fn number_after(line: &str, mark: &str) -> u64 {
    let rest = line.split(mark).nth(1).unwrap_or_default();
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::Count;

    fn counted(lines: &[&str]) -> (u64, u64) {
        let mut count = Count::default();
        lines.iter().for_each(|line| count.read(line));
        (count.passed, count.failed)
    }

    #[test]
    fn cargo_closes_once_per_target() {
        let first = "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out";
        let second = "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured";
        assert_eq!(counted(&[first, "test a ... ok", second]), (15, 2));
    }

    #[test]
    fn node_closes_with_one_line_per_figure() {
        assert_eq!(counted(&["ℹ tests 9", "ℹ pass 7", "ℹ fail 2", "ℹ skipped 0"]), (7, 2));
    }

    #[test]
    fn python_counts_what_ran_and_what_failed_of_it() {
        assert_eq!(counted(&["Ran 1 test in 0.1s", "", "OK"]), (1, 0));
        assert_eq!(counted(&["Ran 8 tests in 0.1s", "FAILED (failures=1, errors=2)"]), (5, 3));
    }
}
