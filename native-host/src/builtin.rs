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

/// What Amazon's own tools read; one way to the keys of Bedrock, and one to its region.
const BEDROCK_KEY: &str = "AWS_BEARER_TOKEN_BEDROCK";
const ACCESS_KEYS: [&str; 2] = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];
const REGIONS: [&str; 2] = ["AWS_REGION", "AWS_DEFAULT_REGION"];

/// The configuration for an environment in which `find` gives the variables that are set.
pub(crate) fn config(find: &dyn Fn(&str) -> Option<String>) -> String {
    let has = |variable: &str| find(variable).is_some();
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
    if let Some(provider) = bedrock(find) {
        providers.push_str(&provider);
        deployments.push_str("  bedrock-any: { provider: bedrock, model: \"*\" }\n");
        groups.push_str("  \"bedrock/*\": { members: [bedrock-any] }\n");
    }
    format!("version: 1\n{providers}{deployments}{groups}")
}

/// Bedrock, which has an address in each region, if there are a region and a key or a pair of keys.
fn bedrock(find: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let region = REGIONS.iter().find_map(|name| find(name))?;
    // A JSON string is one of YAML's.
    let region = serde_json::Value::from(region);
    let keys = if find(BEDROCK_KEY).is_some() {
        format!("api_key: {{ env: {BEDROCK_KEY} }}")
    } else {
        let [id, secret] = ACCESS_KEYS;
        find(id).and(find(secret))?;
        format!(
            "credentials: {{ access_key_id: {{ env: {id} }}, secret_access_key: {{ env: {secret} }}, \
             session_token: {{ env: AWS_SESSION_TOKEN, optional: true }} }}"
        )
    };
    Some(format!("  bedrock: {{ protocol: bedrock, region: {region}, {keys} }}\n"))
}

/// The variables that are looked at, for people.
pub(crate) fn variables() -> String {
    let names: Vec<&str> = PROVIDERS.iter().map(|(_, variable, _)| *variable).collect();
    let [id, _] = ACCESS_KEYS;
    let [region, _] = REGIONS;
    format!("{}, {BEDROCK_KEY} or {id} with {region}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use pointsman_core::Config;

    use super::*;

    #[test]
    fn a_key_makes_its_providers_models_work() {
        let loaded = load(&["GROQ_API_KEY"]);
        assert!(loaded.catalog.resolve("groq/llama-3").is_some());
        assert!(loaded.catalog.resolve("demo").is_some());
        assert!(loaded.catalog.resolve("openai/gpt-4o").is_none());
        assert!(loaded.catalog.resolve("anthropic/claude-sonnet-4-5").is_none());
        assert_eq!(loaded.not_built, []);
        assert_eq!(loaded.warnings, []);
    }

    #[test]
    fn well_known_models_have_a_price_without_a_config() {
        let loaded = load(&["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"]);
        let catalog = &loaded.catalog;
        let priced = |name: &str| {
            let found = catalog.resolve(name).expect("it is served");
            let member = catalog.group(found.group).members[0];
            !catalog.facts_of(member.deployment, found.concrete_model).prices.is_empty()
        };
        assert!(priced("openai/gpt-4o") && priced("anthropic/claude-sonnet-4-5-20250929"));
        assert!(priced("gemini/gemini-2.5-flash") && !priced("openai/claude-sonnet-4-5"));
    }

    #[test]
    fn every_provider_is_well_described() {
        let mut all: Vec<_> = PROVIDERS.iter().map(|(_, variable, _)| *variable).collect();
        all.extend([BEDROCK_KEY, "AWS_REGION"]);
        assert_eq!(load(&all).config.providers.len(), PROVIDERS.len() + 2);
    }

    #[test]
    fn bedrock_needs_a_region_and_one_way_to_its_keys() {
        let pair = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];
        let [id, _] = pair;
        for (set, signs) in [
            (&[BEDROCK_KEY, "AWS_REGION"][..], Some(false)),
            (&[BEDROCK_KEY, id, "AWS_DEFAULT_REGION"], Some(false)),
            (&[id, "AWS_SECRET_ACCESS_KEY", "AWS_REGION"], Some(true)),
            (&[id, "AWS_REGION"], None),
            (&pair, None),
            (&[BEDROCK_KEY], None),
            (&["AWS_REGION"], None),
        ] {
            let loaded = load(set);
            let found = loaded.config.provider("bedrock");
            assert_eq!(found.map(|one| one.credentials.is_some()), signs, "{set:?}");
            assert_eq!(found.map(|one| one.api_key.is_none()), signs, "{set:?}");
            let model = "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0";
            assert_eq!(loaded.catalog.resolve(model).is_some(), signs.is_some(), "{set:?}");
            assert_eq!(loaded.warnings, []);
        }
    }

    #[test]
    fn an_odd_region_is_told_and_adds_nothing() {
        let find = |name: &str| match name {
            "AWS_REGION" => Some("a\", base_url: \"http://x".to_owned()),
            BEDROCK_KEY => Some("key".to_owned()),
            _ => None,
        };
        let node = crate::document::node(&config(&find)).unwrap();
        let faults = Config::load(&node, &|_| Some("key".into())).unwrap_err();
        assert_eq!(
            faults.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["providers.bedrock.region: is no region of Amazon's, such as us-east-1"]
        );
    }

    fn load(set: &[&str]) -> pointsman_core::Loaded {
        let find = |name: &str| set.contains(&name).then(|| "eu-west-1".to_owned());
        let node = crate::document::node(&config(&find)).unwrap();
        Config::load(&node, &|_| Some("key".into())).unwrap()
    }
}
