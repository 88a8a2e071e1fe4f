//! The configuration when there is no file: whatever the environment has keys for, and a practice
//! line that needs none.

use std::fmt::Write as _;

/// Providers: name, the variable that usually holds their key, and where they are.
const PROVIDERS: &[(&str, &str, &str)] = &[
    ("anthropic", "ANTHROPIC_API_KEY", "https://api.anthropic.com/v1"),
    ("openai", "OPENAI_API_KEY", "https://api.openai.com/v1"),
    ("groq", "GROQ_API_KEY", "https://api.groq.com/openai/v1"),
    ("together", "TOGETHER_API_KEY", "https://api.together.xyz/v1"),
    ("openrouter", "OPENROUTER_API_KEY", "https://openrouter.ai/api/v1"),
    ("mistral", "MISTRAL_API_KEY", "https://api.mistral.ai/v1"),
    ("deepseek", "DEEPSEEK_API_KEY", "https://api.deepseek.com/v1"),
    ("fireworks", "FIREWORKS_API_KEY", "https://api.fireworks.ai/inference/v1"),
    ("cerebras", "CEREBRAS_API_KEY", "https://api.cerebras.ai/v1"),
    ("xai", "XAI_API_KEY", "https://api.x.ai/v1"),
    ("gemini", "GEMINI_API_KEY", "https://generativelanguage.googleapis.com/v1beta/openai"),
];

const PRACTICE: &str = r#"  practice:
    protocol: mock
    mock: { first_token: 120ms, per_token: 8ms, output_tokens: 40, text: "Hello from the practice line." }
"#;

/// The configuration for an environment in which `has` says which variables are set.
pub(crate) fn config(has: &dyn Fn(&str) -> bool) -> String {
    let mut providers = String::from("providers:\n");
    let mut deployments = String::from("deployments:\n");
    let mut groups = String::from("groups:\n  demo: { members: [echo], strategy: weighted }\n");
    providers.push_str(PRACTICE);
    deployments.push_str("  echo: { provider: practice, model: echo }\n");
    for (name, variable, base_url) in PROVIDERS.iter().filter(|(_, variable, _)| has(variable)) {
        // All others speak as OpenAI does.
        let protocol = if *name == "anthropic" { "anthropic" } else { "openai" };
        // Writing to a string does not fail.
        let _ = writeln!(
            providers,
            "  {name}: {{ protocol: {protocol}, base_url: \"{base_url}\", \
             api_key: {{ env: {variable} }} }}"
        );
        let _ = writeln!(deployments, "  {name}-any: {{ provider: {name}, model: \"*\" }}");
        let _ = writeln!(groups, "  \"{name}/*\": {{ members: [{name}-any] }}");
    }
    format!("version: 1\n{providers}{deployments}{groups}")
}

/// The variables that are looked at, for people.
pub(crate) fn variables() -> String {
    let names: Vec<&str> = PROVIDERS.iter().map(|(_, variable, _)| *variable).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use pointsman_core::Config;

    use super::*;

    #[test]
    fn a_key_makes_its_providers_models_work() {
        let text = config(&|variable| variable == "GROQ_API_KEY");
        let node = crate::document::node(&text).unwrap();
        let loaded = Config::load(&node, &|_| Some("key".into())).unwrap();
        assert!(loaded.catalog.resolve("groq/llama-3").is_some());
        assert!(loaded.catalog.resolve("demo").is_some());
        assert!(loaded.catalog.resolve("openai/gpt-4o").is_none());
        assert!(loaded.catalog.resolve("anthropic/claude-sonnet-4-5").is_none());
        assert_eq!(loaded.not_built, []);
        assert_eq!(loaded.warnings, []);
    }

    #[test]
    fn every_provider_is_well_described() {
        let node = crate::document::node(&config(&|_| true)).unwrap();
        let loaded = Config::load(&node, &|_| Some("key".into())).unwrap();
        assert_eq!(loaded.config.providers.len(), PROVIDERS.len() + 1);
    }
}
