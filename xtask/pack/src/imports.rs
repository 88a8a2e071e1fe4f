//! The module may use nothing of its host but what moves values across the boundary.

use crate::Result;

/// Words that betray a clock, chance, I/O or generated code in an import's name.
const FORBIDDEN: [&str; 12] = [
    "date",
    "now",
    "performance",
    "random",
    "crypto",
    "fetch",
    "timeout",
    "interval",
    "eval",
    "function",
    "process",
    "require",
];

/// Checks that every import, given as (module, name), is the bindings' own.
pub(crate) fn check<'a>(imports: impl Iterator<Item = (&'a str, &'a str)>) -> Result {
    for (module, name) in imports {
        let own = module == "./core_bg.js" && name.starts_with("__wb");
        let lower = name.to_ascii_lowercase();
        // `__wbindgen_is_function` and its kind look at a value and call nothing.
        let tests_a_value = lower.contains("_is_") || lower.contains("_instanceof_");
        let forbidden = FORBIDDEN.iter().any(|word| lower.contains(word)) && !tests_a_value;
        if !own || forbidden {
            return Err(format!("the module imports `{name}` from `{module}`"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;

    fn one(module: &str, name: &str) -> bool {
        check([(module, name)].into_iter()).is_ok()
    }

    #[test]
    fn only_the_bindings_own_imports_pass() {
        assert!(one("./core_bg.js", "__wbg_set_3807d5f0bfc24aa7"));
        assert!(one("./core_bg.js", "__wbg___wbindgen_is_function_754e9f305ff6029e"));
        assert!(!one("env", "__wbg_set_3807d5f0bfc24aa7"));
        assert!(!one("./core_bg.js", "memory"));
        assert!(!one("./core_bg.js", "__wbg_now_d16eda9bb3e5f4a5"));
        assert!(!one("./core_bg.js", "__wbg_getRandomValues_3c9c0d586e575a16"));
        assert!(!one("./core_bg.js", "__wbg_newnoargs_function_ab"));
    }
}
