//! Media, and where the protocol has a place for them.

use super::super::write_request;
use super::request::{TARGET, write};
use crate::neutral::arbitrary::found;
use crate::neutral::{About, Media, Part, Request, Role, Source, Turn};

#[test]
fn media_in_results_are_shown_by_the_user_when_all_results_are_told() {
    let image = || Part::media(Media::Image, Source::Url("u"), None);
    let result =
        |id, content| Part::ToolResult { id, name: None, content, failed: true, cache: None };
    let turn = |role, parts| Turn { role, parts, name: None };
    let turns = vec![
        turn(Role::User, vec![result("1", vec![Part::text("see"), image()])]),
        turn(Role::User, vec![result("2", vec![])]),
        turn(Role::Assistant, vec![Part::text("ok")]),
    ];
    let (body, lost) = write(&Request { turns, ..Request::default() });
    let expected = r#""messages":[{"role":"tool","tool_call_id":"1","content":"see"},{"role":"tool","tool_call_id":"2","content":""},{"role":"user","content":[{"type":"image_url","image_url":{"url":"u"}}]},{"role":"assistant","content":"ok"}]"#;
    assert!(body.contains(expected), "{body}");
    assert_eq!(lost, ["tool_result.is_error"]);
}

#[test]
fn media_without_a_place_are_refused() {
    for (media, source, mime) in [
        (Media::Video, Source::Url("u"), None),
        (Media::Audio, Source::Url("u"), None),
        (Media::Audio, Source::Base64("AA"), Some("audio/opus")),
        (Media::File, Source::Url("u"), None),
        (Media::File, Source::Uploaded("f"), None),
        (Media::Image, Source::Uploaded("f"), None),
    ] {
        let part = Part::media(media, source.clone(), mime);
        let turns = vec![Turn { role: Role::User, parts: vec![part], name: None }];
        let request = Request { turns, ..Request::default() };
        assert!(write_request(&request, &TARGET).is_err(), "{media:?} {source:?}");
    }
}

#[test]
fn a_name_is_told_as_lost_where_no_file_bears_it() {
    let named = |media, source, mime| Part::Media {
        media,
        source,
        mime: Some(mime),
        name: Some("A note."),
        detail: None,
        cache: None,
        about: About::default(),
    };
    let lost = |part| {
        let turns = vec![Turn { role: Role::User, parts: vec![part], name: None }];
        write(&Request { turns, ..Request::default() }).1
    };
    let pdf = Source::Base64("JVBE");
    assert_eq!(lost(named(Media::File, pdf, "application/pdf")), [""; 0]);
    for (media, source, mime) in [
        (Media::File, Source::Text("x"), "text/plain"),
        (Media::Image, Source::Base64("iVBO"), "image/png"),
        (Media::Image, Source::Url("https://a.b/c.png"), "image/png"),
        (Media::Audio, Source::Base64("UklG"), "audio/wav"),
    ] {
        assert_eq!(lost(named(media, source, mime)), ["document.name"], "{media:?}");
    }
}

#[test]
fn what_the_client_found_is_text_wherever_it_stands() {
    let result = Part::ToolResult {
        id: "1",
        name: None,
        content: vec![found()],
        failed: false,
        cache: None,
    };
    let turns = vec![Turn { role: Role::User, parts: vec![result, found()], name: None }];
    let (body, lost) = write(&Request { turns, ..Request::default() });
    assert_eq!(lost, ["document.citations", "document.source", "document.name"]);
    let text = r#"[{"type":"text","text":"one\ntwo"}]"#;
    let expected = format!(
        r#"{{"model":"m","messages":[{{"role":"tool","tool_call_id":"1","content":{text}}},{{"role":"user","content":{text}}}]}}"#
    );
    assert_eq!(body, expected);
}

#[test]
fn what_the_assistant_made_is_shown_by_the_user() {
    let image = || Part::media(Media::Image, Source::Base64("iVBO"), Some("image/png"));
    let turn = |role, parts| Turn { role, parts, name: None };
    let call = Part::ToolCall { id: "1", name: "f", arguments: "", signature: None, cache: None };
    let result = Part::ToolResult {
        id: "1",
        name: None,
        content: vec![Part::text("7")],
        failed: false,
        cache: None,
    };
    let turns = vec![
        turn(Role::Assistant, vec![Part::text("a cat"), image(), call]),
        turn(Role::User, vec![result]),
        turn(Role::Assistant, vec![image()]),
        turn(Role::User, vec![Part::text("bigger")]),
    ];
    let (body, lost) = write(&Request { turns, ..Request::default() });
    assert_eq!(lost, [""; 0]);
    let body: serde_json::Value = serde_json::from_str(&body).unwrap();
    let image = serde_json::json!(
        {"type":"image_url","image_url":{"url":"data:image/png;base64,iVBO"}}
    );
    let function = serde_json::json!({"name":"f","arguments":"{}"});
    let expected = serde_json::json!([
        {"role":"assistant","content":"a cat",
            "tool_calls":[{"id":"1","type":"function","function":function}]},
        {"role":"tool","tool_call_id":"1","content":"7"},
        {"role":"user","content":[image]},
        {"role":"assistant","content":""},
        {"role":"user","content":[image, {"type":"text","text":"bigger"}]},
    ]);
    assert_eq!(body["messages"], expected);
}
