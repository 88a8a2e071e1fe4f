//! The list of models, and one of them, as each protocol's clients expect them. To a client the
//! names it may ask for are the models.

use crate::dialect::Dialect;
use crate::json::{Object, object};

/// The body of `GET /v1/models`.
pub fn models_list<'a>(dialect: Dialect, names: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
    let names: Vec<&str> = names.into_iter().collect();
    let mut body = Vec::new();
    object(&mut body, |whole| {
        let list = if dialect == Dialect::Generate { "models" } else { "data" };
        if dialect == Dialect::Chat {
            whole.text("object", "list");
        }
        whole.list(list, |models| {
            for name in &names {
                models.object(|one| write_model(one, dialect, name));
            }
        });
        if dialect == Dialect::Messages {
            whole.flag("has_more", false);
            for (key, id) in [("first_id", names.first()), ("last_id", names.last())] {
                match id {
                    Some(id) => whole.text(key, id),
                    None => whole.null(key),
                }
            }
        }
    });
    body
}

/// The body of `GET /v1/models/{name}` for a name that exists.
pub fn model(dialect: Dialect, name: &str) -> Vec<u8> {
    let mut body = Vec::new();
    object(&mut body, |one| write_model(one, dialect, name));
    body
}

/// A name has no age; the clients' types demand one.
fn write_model(one: &mut Object<'_>, dialect: Dialect, name: &str) {
    match dialect {
        Dialect::Messages => {
            one.text("type", "model");
            one.text("id", name);
            one.text("display_name", name);
            one.text("created_at", "1970-01-01T00:00:00Z");
        }
        Dialect::Generate => {
            one.text("name", &format!("models/{name}"));
            one.text("displayName", name);
            one.list("supportedGenerationMethods", |methods| {
                methods.text("generateContent");
                methods.text("countTokens");
            });
        }
        Dialect::Chat | Dialect::Responses | Dialect::Converse => {
            one.text("id", name);
            one.text("object", "model");
            one.whole("created", 0);
            one.text("owned_by", "pointsman");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(dialect: Dialect) -> serde_json::Value {
        serde_json::from_slice(&models_list(dialect, ["gpt-4o", "a \"b\""])).unwrap()
    }

    #[test]
    fn names_are_listed_in_order() {
        let models = list(Dialect::Chat);
        assert_eq!(models["object"], "list");
        assert_eq!(models["data"][0]["id"], "gpt-4o");
        assert_eq!(models["data"][1]["id"], "a \"b\"");
        let one: serde_json::Value =
            serde_json::from_slice(&model(Dialect::Chat, "gpt-4o")).unwrap();
        assert_eq!(models["data"][0], one);
        assert_eq!((&one["object"], &one["created"]), (&"model".into(), &0.into()));
        assert_eq!(models_list(Dialect::Chat, []), b"{\"object\":\"list\",\"data\":[]}");
    }

    #[test]
    fn each_protocol_has_its_own_list() {
        let models = list(Dialect::Messages);
        assert_eq!(
            (&models["data"][0]["type"], &models["has_more"]),
            (&"model".into(), &false.into())
        );
        assert_eq!(models["last_id"], "a \"b\"");
        assert_eq!(list(Dialect::Generate)["models"][0]["name"], "models/gpt-4o");
    }
}
