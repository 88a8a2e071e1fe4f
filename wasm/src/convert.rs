//! Values across the boundary, and errors for JavaScript.

use pointsman_core::Node;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_wasm_bindgen::Serializer;
use wasm_bindgen::{JsCast, JsValue};

/// A JavaScript `Error`.
pub(crate) fn error(message: &str) -> JsValue {
    js_sys::Error::new(message).into()
}

/// A value from JavaScript; what does not fit is an error that names `what` it was.
pub(crate) fn from_js<T: DeserializeOwned>(what: &str, value: JsValue) -> Result<T, JsValue> {
    // Through a document of its own, which sees fields that the type does not know.
    let document: serde_json::Value =
        serde_wasm_bindgen::from_value(value).map_err(|fault| wrong(what, &fault))?;
    serde_json::from_value(document).map_err(|fault| wrong(what, &fault))
}

/// A value for JavaScript.
pub(crate) fn to_js(value: &impl Serialize) -> Result<JsValue, JsValue> {
    // Like JSON, but for bytes, which stay a `Uint8Array`.
    let serializer = Serializer::json_compatible().serialize_bytes_as_arrays(false);
    value.serialize(&serializer).map_err(|fault| wrong("result", &fault))
}

/// A document from JavaScript: JSON text, or the value itself.
pub(crate) fn node(what: &str, value: JsValue) -> Result<Node, JsValue> {
    match value.dyn_ref::<js_sys::JsString>() {
        Some(text) => json(what, &String::from(text)).map_err(|message| error(&message)),
        None => {
            let deserializer = serde_wasm_bindgen::Deserializer::from(value);
            Node::deserialize(deserializer).map_err(|fault| wrong(what, &fault))
        }
    }
}

/// A document from JSON text.
pub(crate) fn json(what: &str, text: &str) -> Result<Node, String> {
    serde_json::from_str(text).map_err(|fault| format!("{what}: {fault}"))
}

/// One `Error` for all faults of a document; its `faults` lists them.
pub(crate) fn faults(what: &str, lines: &[String]) -> JsValue {
    let message = format!("{what}: {} faults\n{}", lines.len(), lines.join("\n"));
    let error = error(&message);
    if let Ok(lines) = to_js(&lines) {
        // Cannot fail: the object is an `Error` made just now.
        let _ = js_sys::Reflect::set(&error, &JsValue::from_str("faults"), &lines);
    }
    error
}

fn wrong(what: &str, fault: &impl std::fmt::Display) -> JsValue {
    error(&format!("{what}: {fault}"))
}
