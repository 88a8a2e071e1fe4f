//! What the module may weigh: workers load it at every cold start, and some hosts bound it.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::Result;

/// The most that the module may have, in thousands of bytes, as it is and compressed with gzip. The
/// package's README says the same numbers.
const BUDGET: Size = Size { raw: 2_100, gzip: 840 };

/// How large something is, in thousands of bytes, rounded up.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Size {
    raw: usize,
    gzip: usize,
}

/// Checks that the module is within the budget, and says its size.
///
/// # Errors
/// It is too large.
pub(crate) fn check(module: &[u8]) -> Result<String> {
    let Size { raw, gzip } = measure(module)?;
    let found = format!("{raw} kB, {gzip} kB compressed with gzip");
    if raw <= BUDGET.raw && gzip <= BUDGET.gzip {
        return Ok(found);
    }
    let Size { raw, gzip } = BUDGET;
    Err(format!(
        "the module has {found}, and may have {raw} kB and {gzip} kB (`BUDGET` in \
         xtask/pack/src/size.rs): find what made it grow"
    ))
}

fn measure(module: &[u8]) -> Result<Size> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let zipped = encoder.write_all(module).and_then(|()| encoder.finish());
    let zipped = zipped.map_err(|error| format!("compressing the module: {error}"))?;
    Ok(Size { raw: module.len().div_ceil(1_000), gzip: zipped.len().div_ceil(1_000) })
}

#[cfg(test)]
mod tests {
    use super::{BUDGET, check};

    #[test]
    fn a_module_may_fill_the_budget_and_no_more() {
        let mut module = vec![0; BUDGET.raw * 1_000];
        assert!(check(&module).is_ok());
        module.push(0);
        assert!(check(&module).is_err());
    }

    #[test]
    fn what_does_not_compress_has_a_lower_bound() {
        // Numbers without a pattern: gzip makes nothing of them.
        let next = |state: &u32| Some(state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
        let numbers = std::iter::successors(Some(1_u32), next).map(|state| (state >> 24) as u8);
        let module: Vec<u8> = numbers.take(BUDGET.gzip * 1_000 + 1_000).collect();
        assert!(module.len() < BUDGET.raw * 1_000);
        assert!(check(&module).is_err());
    }

    #[test]
    fn the_readme_says_the_budget() {
        let words = format!("at most {} kB, {} kB compressed", BUDGET.raw, BUDGET.gzip);
        let readme = include_str!("../../../wasm/js/README.md");
        assert!(readme.contains(&words), "wasm/js/README.md does not say: {words}");
    }
}
