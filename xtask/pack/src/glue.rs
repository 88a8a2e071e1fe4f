//! What the generated glue lacks for the hosts we serve. Each change must apply exactly once: when
//! the generator changes, the build fails instead of the package.

use crate::Result;

/// Vercel's edge runtime hands over a module made in another realm, which fails `instanceof`.
const FOREIGN_MODULE: (&str, &str) = (
    "if (!(module instanceof WebAssembly.Module)) {",
    "if (Object.prototype.toString.call(module) !== \"[object WebAssembly.Module]\") {",
);

const PATCHES: [(&str, &str); 1] = [FOREIGN_MODULE];

/// Must not occur: bundlers would follow a path, and workers refuse generated code.
const ABSENT: [&str; 3] = ["import.meta.url", "new Function", "eval("];

/// The glue with every patch applied.
pub(crate) fn patch(glue: &str) -> Result<String> {
    let mut text = glue.to_owned();
    for (from, to) in PATCHES {
        match text.matches(from).count() {
            1 => text = text.replacen(from, to, 1),
            found => return Err(format!("glue: found {found} times, not once: {from}")),
        }
    }
    match ABSENT.iter().find(|word| text.contains(*word)) {
        Some(word) => Err(format!("glue: contains `{word}`")),
        None => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::{FOREIGN_MODULE, patch};

    #[test]
    fn a_patch_applies_exactly_once() {
        let (from, to) = FOREIGN_MODULE;
        assert_eq!(patch(from).as_deref(), Ok(to));
        assert!(patch("").is_err());
        assert!(patch(&from.repeat(2)).is_err());
    }

    #[test]
    fn a_path_or_generated_code_is_refused() {
        let (from, _) = FOREIGN_MODULE;
        assert!(patch(&format!("{from} new URL('x', import.meta.url)")).is_err());
        assert!(patch(&format!("{from} new Function('x')")).is_err());
    }
}
