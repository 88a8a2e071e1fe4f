//! The admin API answers as its OpenAPI document says: every command and every view, in good and in bad
//! cases.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::bench::{Bench, get, post, scratch_file, send};

/// What of JSON Schema the document uses. Anything else in it is a fault of this test.
const WORDS: [&str; 11] = [
    "type",
    "required",
    "properties",
    "additionalProperties",
    "items",
    "enum",
    "anyOf",
    "$ref",
    "description",
    "minimum",
    "maximum",
];

/// Says at which place a value is not what its schema wants.
fn check(document: &Value, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
    let fault = |why: String| Err(format!("{place}: {why}, not {value}"));
    let rules = schema.as_object().expect("a schema");
    let unknown = rules.keys().find(|word| !WORDS.contains(&word.as_str()));
    assert_eq!(unknown, None, "{schema}");
    if let Some(name) = rules.get("$ref").and_then(Value::as_str) {
        let pointer = name.trim_start_matches('#');
        let schema = document.pointer(pointer).unwrap_or_else(|| panic!("{name}"));
        return check(document, schema, value, place);
    }
    if let Some(several) = rules.get("anyOf").and_then(Value::as_array) {
        let tried: Vec<_> = several.iter().map(|one| check(document, one, value, place)).collect();
        return if tried.iter().any(Result::is_ok) { Ok(()) } else { tried.into_iter().collect() };
    }
    if let Some(words) = rules.get("enum").and_then(Value::as_array)
        && !words.contains(value)
    {
        return fault(format!("one of {words:?}"));
    }
    let kinds = match rules.get("type") {
        Some(Value::Array(kinds)) => kinds.clone(),
        kind => kind.into_iter().cloned().collect(),
    };
    if !kinds.is_empty() && !kinds.iter().any(|kind| is(kind.as_str(), value)) {
        return fault(format!("{kinds:?}"));
    }
    for (at, item) in value.as_array().into_iter().flatten().enumerate() {
        let items = rules.get("items").unwrap_or_else(|| panic!("{place} has no `items`"));
        check(document, items, item, &format!("{place}[{at}]"))?;
    }
    value.as_object().map_or(Ok(()), |members| check_members(document, rules, members, place))
}

fn check_members(
    document: &Value,
    rules: &Map<String, Value>,
    members: &Map<String, Value>,
    place: &str,
) -> Result<(), String> {
    let required = rules.get("required").and_then(Value::as_array).into_iter().flatten();
    let mut required = required.filter_map(Value::as_str);
    if let Some(missing) = required.find(|name| !members.contains_key(*name)) {
        return Err(format!("{place}: `{missing}` is missing"));
    }
    for (name, value) in members {
        let known = rules.get("properties").and_then(|all| all.get(name));
        let others = rules.get("additionalProperties").unwrap_or(&Value::Bool(false));
        let place = format!("{place}.{name}");
        match (known, others) {
            (Some(schema), _) => check(document, schema, value, &place)?,
            (None, Value::Bool(true)) => {}
            (None, Value::Bool(false)) => return Err(format!("{place} is not in the document")),
            (None, schema) => check(document, schema, value, &place)?,
        }
    }
    Ok(())
}

fn is(kind: Option<&str>, value: &Value) -> bool {
    match kind {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        other => panic!("{other:?}"),
    }
}

/// What the document describes, and what of it has been seen.
struct Described<'a> {
    bench: &'a Bench,
    document: Value,
    seen: BTreeSet<String>,
}

impl Described<'_> {
    /// Asks for `target`, which is an instance of `path`, and checks the answer.
    async fn ask(&mut self, method: &str, path: &str, target: &str, body: &str) -> (u16, Value) {
        let request = post(target, body).replacen("POST", method, 1);
        let reply = send(self.bench.admin, &request).await;
        let operation = self.document["paths"][path][method.to_lowercase()].clone();
        let response = &operation["responses"][reply.status.to_string()];
        assert!(response.is_object(), "{method} {target}: {} is not described", reply.status);
        let schema = response["content"]["application/json"]["schema"].clone();
        assert!(schema.is_object(), "{method} {path}: {response}");
        let value = reply.json();
        let place = format!("{method} {target}: {}", reply.status);
        check(&self.document, &schema, &value, &place).unwrap_or_else(|fault| panic!("{fault}"));
        self.seen.insert(format!("{method} {path} {}", reply.status));
        (reply.status, value)
    }

    /// The same, for what must come out with this status.
    async fn expect(&mut self, status: u16, method: &str, path: &str, target: &str, body: &str) {
        let (found, value) = self.ask(method, path, target, body).await;
        assert_eq!(found, status, "{method} {target}: {value}");
    }

    /// What is described and has not been seen.
    fn unseen(&self) -> Vec<String> {
        let mut unseen = Vec::new();
        for (path, operations) in self.document["paths"].as_object().expect("paths") {
            for (method, operation) in operations.as_object().expect("operations") {
                let responses = operation["responses"].as_object().expect("responses");
                let json = responses
                    .iter()
                    .filter(|(_, one)| one["content"]["application/json"].is_object());
                let all =
                    json.map(|(status, _)| format!("{} {path} {status}", method.to_uppercase()));
                unseen.extend(all.filter(|one| !self.seen.contains(one)));
            }
        }
        unseen
    }
}

async fn busy() -> (Bench, [std::path::PathBuf; 2]) {
    let (store, log) = (scratch_file(""), scratch_file(""));
    std::fs::remove_file(&store).expect("it was made");
    let hash = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";
    let sections = format!(
        "callers:\n  anonymous: app\n  organisations: {{ o: {{ budget: {{ usd: 9, per: {{ rolling: 1h }} }} }} }}\n  \
         teams: {{ t: {{ organisation: o, budget: {{ usd: 5, per: day }} }} }}\n  \
         keys: {{ app: {{ sha256: {hash}, team: t, limits: {{ requests_per_minute: 1000 }} }} }}\n\
         metering: {{ usage_log: {} }}\nstate: {{ store: {{ embedded: {} }} }}\n",
        log.display(),
        store.display()
    );
    let any = (
        "model: west-model }",
        "model: west-model, price: { input: 1, output: 1 } }\n  any: { provider: b, model: \"*\", \
         price: { input: 1, output: 1 } }",
    );
    let limited = (
        "model: east-model }",
        "model: east-model, price: { input: 1, output: 1 }, limits: { requests_per_minute: 500, concurrent: 9 } }",
    );
    let group = ("solo: {", "\"x/*\": { members: [ any ] }\n  solo: {");
    let east = "fail: { status: 429, retry_after: 60s }";
    (Bench::edited(east, "ok: {}", &sections, &[any, limited, group]).await, [store, log])
}

#[tokio::test]
async fn every_answer_is_what_the_document_says() {
    let (bench, files) = busy().await;
    let document = get(bench.admin, "/openapi.json").await.json();
    let mut admin = Described { bench: &bench, document, seen: BTreeSet::new() };
    for model in ["g", "x/some", "nobody"] {
        bench.chat(model, false).await;
    }
    bench.until_at_rest().await;
    for path in ["/status", "/deployments", "/groups", "/callers", "/decisions", "/keys"] {
        admin.expect(200, "GET", path, path, "").await;
    }
    while admin.ask("GET", "/usage", "/usage?by=model,hour", "").await.1 == json!([]) {}
    views_of_one(&mut admin).await;
    commands(&mut admin).await;
    keys(&mut admin).await;
    unknown_parameters(&mut admin).await;
    bench.edit("version: 1", "version: 1\nnonsense: 2");
    admin.expect(409, "POST", "/reload", "/reload", "").await;
    admin.expect(200, "GET", "/status", "/status", "").await;
    admin.expect(200, "POST", "/drain", "/drain", "").await;
    // One reader at a time, and a log that is there: not to be had here.
    assert_eq!(admin.unseen(), ["GET /usage 409", "GET /usage 429"]);
    files.iter().for_each(|file| std::fs::remove_file(file).expect("a file"));
}

/// They may have been meant to restrict a command, so no path passes over them.
async fn unknown_parameters(admin: &mut Described<'_>) {
    let paths = admin.document["paths"].as_object().expect("paths").clone();
    for (path, methods) in paths {
        if ["/healthz", "/readyz", "/metrics"].contains(&path.as_str()) {
            continue;
        }
        let target = path.replace("{name}", "west").replace("{number}", "1");
        for method in methods.as_object().expect("methods").keys() {
            let method = method.to_uppercase();
            admin.expect(400, &method, &path, &format!("{target}?nonsense=1"), "").await;
        }
    }
    admin.expect(400, "GET", "/decisions", "/decisions?most=5&most=6", "").await;
    assert_ne!(admin.ask("GET", "/status", "/status", "").await.1["phase"], "draining");
}

async fn views_of_one(admin: &mut Described<'_>) {
    admin.expect(200, "GET", "/decisions/{number}", "/decisions/1", "").await;
    admin.expect(404, "GET", "/decisions/{number}", "/decisions/77", "").await;
    admin.expect(404, "GET", "/decisions/{number}", "/decisions/x", "").await;
    for query in ["most=x", "failed=maybe", "failed", "limit=5", "most=5&x=1"] {
        admin.expect(400, "GET", "/decisions", &format!("/decisions?{query}"), "").await;
    }
    for query in ["since=yesterday", "until=2026-11-29T22:00Z", "since=29.11.2026", "from=2026"] {
        admin.expect(400, "GET", "/usage", &format!("/usage?{query}"), "").await;
    }
    admin.expect(200, "GET", "/usage", "/usage?since=2026-11&until=2999-01-01T00:00", "").await;
    admin.expect(200, "POST", "/explain", "/explain", r#"{ "model": "g", "key": "app" }"#).await;
    admin.expect(200, "POST", "/explain", "/explain", r#"{ "model": "nobody" }"#).await;
    admin.expect(400, "POST", "/explain", "/explain", "{").await;
    admin.expect(404, "POST", "/explain", "/explain", r#"{ "model": "g", "key": "x" }"#).await;
}

async fn commands(admin: &mut Described<'_>) {
    for verb in ["block", "unblock", "clear", "probe"] {
        let path = format!("/deployments/{{name}}/{verb}");
        admin.expect(200, "POST", &path, &format!("/deployments/west/{verb}"), "").await;
        admin.expect(404, "POST", &path, &format!("/deployments/nobody/{verb}"), "").await;
        admin.expect(200, "GET", "/deployments", "/deployments", "").await;
    }
    let path = "/deployments/{name}/probe";
    admin.expect(409, "POST", path, "/deployments/any/probe", "").await;
    // Not a real one, which would not be noticed.
    for query in ["dry_run=1", "dry_run", "dry-run=true"] {
        admin.expect(400, "POST", "/reload", &format!("/reload?{query}"), "").await;
    }
    admin.expect(200, "POST", "/reload", "/reload?dry_run=true", "").await;
}

async fn keys(admin: &mut Described<'_>) {
    admin.expect(200, "POST", "/keys", "/keys", r#"{ "name": "n", "team": "t" }"#).await;
    admin.expect(409, "POST", "/keys", "/keys", r#"{ "name": "n" }"#).await;
    admin.expect(400, "POST", "/keys", "/keys", "{").await;
    let (rotate, expire, one) = ("/keys/{name}/rotate", "/keys/{name}/expire", "/keys/{name}");
    admin.expect(200, "POST", rotate, "/keys/n/rotate", r#"{ "grace": "1h" }"#).await;
    admin.expect(200, "POST", rotate, "/keys/n/rotate", r#"{ "grace": "0s" }"#).await;
    admin.expect(400, "POST", rotate, "/keys/n/rotate", "{").await;
    admin.expect(409, "POST", rotate, "/keys/nobody/rotate", "").await;
    admin.expect(200, "POST", expire, "/keys/n/expire", r#"{ "at": "2099-01-01" }"#).await;
    admin.expect(200, "GET", "/keys", "/keys", "").await;
    admin.expect(200, "POST", expire, "/keys/n/expire", r#"{ "at": null }"#).await;
    admin.expect(400, "POST", expire, "/keys/n/expire", "{}").await;
    admin.expect(409, "POST", expire, "/keys/nobody/expire", r#"{ "at": null }"#).await;
    admin.expect(200, "DELETE", one, "/keys/n", "").await;
    admin.expect(409, "DELETE", one, "/keys/n", "").await;
}
