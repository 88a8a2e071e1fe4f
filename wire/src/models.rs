//! The list of models, and one of them. To a client the names it may ask for are the models.

use crate::json::write_string;

/// The body of `GET /v1/models`.
pub fn models_list<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
    let mut body = b"{\"object\":\"list\",\"data\":[".to_vec();
    for (at, name) in names.into_iter().enumerate() {
        if at > 0 {
            body.push(b',');
        }
        write_model(&mut body, name);
    }
    body.extend_from_slice(b"]}");
    body
}

/// The body of `GET /v1/models/{name}` for a name that exists.
pub fn model(name: &str) -> Vec<u8> {
    let mut body = Vec::new();
    write_model(&mut body, name);
    body
}

/// `created` is 0 because a name has no age; the clients' types demand a number.
fn write_model(body: &mut Vec<u8>, name: &str) {
    body.extend_from_slice(b"{\"id\":");
    write_string(body, name);
    body.extend_from_slice(b",\"object\":\"model\",\"created\":0,\"owned_by\":\"pointsman\"}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_listed_in_order() {
        let list: serde_json::Value =
            serde_json::from_slice(&models_list(["gpt-4o", "a \"b\""])).unwrap();
        assert_eq!(list["object"], "list");
        assert_eq!(list["data"][0]["id"], "gpt-4o");
        assert_eq!(list["data"][1]["id"], "a \"b\"");
        let one: serde_json::Value = serde_json::from_slice(&model("gpt-4o")).unwrap();
        assert_eq!(list["data"][0], one);
        assert_eq!((&one["object"], &one["created"]), (&"model".into(), &0.into()));
        assert_eq!(models_list([]), b"{\"object\":\"list\",\"data\":[]}");
    }
}
