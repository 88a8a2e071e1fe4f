//! Google's own schemas (a dialect of OpenAPI's), said as JSON schemas.

use super::members::camel;
use crate::json::{Json, Object, object};

/// Members that only say how to show a schema.
const DROPPED: [&str; 3] = ["nullable", "propertyOrdering", "example"];
/// Members that Google may write as strings, as it does with long integers.
const COUNTS: [&str; 6] =
    ["minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"];

/// The JSON schema that says the same, kept with the schema.
pub(super) fn json_schema<'a>(schema: Json<'a>) -> &'a str {
    schema.keep(|| {
        let mut out = Vec::new();
        object(&mut out, |o| write(o, schema));
        String::from_utf8(out).unwrap_or_default()
    })
}

/// The tree is no deeper than the parser lets it be, and neither is this.
fn write(o: &mut Object<'_>, schema: Json<'_>) {
    let nullable = schema.get("nullable").and_then(Json::flag).unwrap_or(false);
    for (key, value) in schema.members().unwrap_or_default().iter() {
        match &*camel(key) {
            "type" => write_type(o, value, nullable),
            key if DROPPED.contains(&key) => {}
            key if COUNTS.contains(&key) => o.raw(key, value.text().unwrap_or(value.raw())),
            "properties" => o.object("properties", |o| {
                for (name, property) in value.members().unwrap_or_default().iter() {
                    o.object(name, |o| write(o, property));
                }
            }),
            key @ ("items" | "additionalProperties") if value.members().is_some() => {
                o.object(key, |o| write(o, value));
            }
            key @ ("anyOf" | "prefixItems") => o.list(key, |list| {
                let schemas = value.list().unwrap_or_default();
                schemas.iter().for_each(|schema| list.object(|o| write(o, schema)));
            }),
            key => o.raw(key, value.raw()),
        }
    }
}

fn write_type(o: &mut Object<'_>, value: Json<'_>, nullable: bool) {
    let Some(name) = value.text() else { return o.raw("type", value.raw()) };
    let name = name.to_ascii_lowercase();
    match &*name {
        "type_unspecified" => {}
        _ if nullable => o.list("type", |list| {
            list.text(&name);
            list.text("null");
        }),
        _ => o.text("type", &name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Tree;

    fn said(schema: &str) -> String {
        json_schema(Tree::default().parse(schema.as_bytes()).unwrap()).to_owned()
    }

    #[test]
    fn types_are_written_small_and_may_be_null() {
        assert_eq!(
            said(
                r#"{"type":"OBJECT","properties":{"type":{"type":"STRING","nullable":true},
                    "n":{"type":"INTEGER","format":"int32","minimum": 1.0}},"required":["n"],
                    "propertyOrdering":["n","type"]}"#
            ),
            r#"{"type":"object","properties":{"type":{"type":["string","null"]},"n":{"type":"integer","format":"int32","minimum":1.0}},"required":["n"]}"#
        );
    }

    #[test]
    fn lists_and_alternatives_are_schemas_too() {
        assert_eq!(
            said(
                r#"{"type":"ARRAY","min_items":"1","items":{"any_of":[{"type":"STRING",
                    "enum":["A"]},{"type":"NULL"}]}}"#
            ),
            r#"{"type":"array","minItems":1,"items":{"anyOf":[{"type":"string","enum":["A"]},{"type":"null"}]}}"#
        );
    }

    #[test]
    fn a_schema_that_is_json_schema_already_stays() {
        let schema = r#"{"type":"object","properties":{"a":{"type":"string"}}}"#;
        assert_eq!(said(schema), schema);
    }
}
