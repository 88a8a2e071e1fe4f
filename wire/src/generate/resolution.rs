//! How closely images are looked at, which Gemini is told for all media of a request at once.

use crate::neutral::{Media, Part, Request, Turn};

/// OpenAI's word for an image, and Gemini's.
const WORDS: [(&str, &str); 2] =
    [("low", "MEDIA_RESOLUTION_LOW"), ("high", "MEDIA_RESOLUTION_HIGH")];

/// The word for a request whose media are all images, to be looked at equally closely.
pub(super) fn write_resolution(request: &Request<'_>) -> Option<&'static str> {
    let mut details = Vec::new();
    each_media(request.turns.iter().flat_map(|turn| &turn.parts), &mut |part| {
        details.push(match part {
            Part::Media { media: Media::Image, detail, .. } => *detail,
            _ => None,
        });
    });
    let first = details.first().copied().flatten()?;
    let same = details.iter().all(|detail| *detail == Some(first));
    let found = WORDS.into_iter().find(|(detail, _)| same && *detail == first);
    found.map(|(_, word)| word)
}

fn each_media<'p, 'a: 'p>(
    parts: impl IntoIterator<Item = &'p Part<'a>>,
    each: &mut dyn FnMut(&'p Part<'a>),
) {
    for part in parts {
        match part {
            Part::Media { .. } => each(part),
            Part::ToolResult { content, .. } => each_media(content, each),
            _ => {}
        }
    }
}

/// Tells each image of the turns what the word for all says. Whether that is all it says: not if
/// there are other media, no images, or no such word elsewhere.
pub(super) fn read_resolution(word: &str, turns: &mut [Turn<'_>]) -> bool {
    let found = WORDS.into_iter().find(|(_, own)| own.eq_ignore_ascii_case(word));
    let Some((said, _)) = found else { return false };
    let (mut images, mut others) = (false, false);
    let mut tell = |part: &mut Part<'_>| match part {
        Part::Media { media: Media::Image, detail, .. } => {
            *detail = Some(said);
            images = true;
        }
        Part::Media { .. } => others = true,
        _ => {}
    };
    for part in turns.iter_mut().flat_map(|turn| &mut turn.parts) {
        match part {
            Part::ToolResult { content, .. } => content.iter_mut().for_each(&mut tell),
            part => tell(part),
        }
    }
    images && !others
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neutral::{Role, Source};

    fn media(media: Media, detail: Option<&'static str>) -> Part<'static> {
        match Part::media(media, Source::Base64("AA"), None) {
            Part::Media { media, source, mime, name, cache, about, .. } => {
                Part::Media { media, source, mime, name, detail, cache, about }
            }
            part => part,
        }
    }

    fn request(parts: Vec<Part<'static>>) -> Request<'static> {
        let turns = vec![Turn { role: Role::User, parts, name: None }];
        Request { turns, ..Request::default() }
    }

    fn result(content: Vec<Part<'static>>) -> Part<'static> {
        Part::ToolResult { id: "1", name: None, content, failed: false, cache: None }
    }

    #[test]
    fn one_word_is_for_all() {
        let image = |detail| media(Media::Image, Some(detail));
        for (parts, expected) in [
            (vec![image("low")], Some("MEDIA_RESOLUTION_LOW")),
            (vec![image("high"), result(vec![image("high")])], Some("MEDIA_RESOLUTION_HIGH")),
            (vec![image("high"), result(vec![image("low")])], None),
            (vec![image("auto")], None),
            (vec![image("low"), media(Media::Image, None)], None),
            (vec![image("low"), media(Media::File, None)], None),
            (vec![Part::text("x")], None),
        ] {
            assert_eq!(write_resolution(&request(parts.clone())), expected, "{parts:?}");
        }
    }

    #[test]
    fn each_image_is_told_what_all_are() {
        let plain = || media(Media::Image, None);
        let mut asked = request(vec![plain(), result(vec![plain()])]);
        assert!(read_resolution("MEDIA_RESOLUTION_HIGH", &mut asked.turns));
        assert_eq!(write_resolution(&asked), Some("MEDIA_RESOLUTION_HIGH"));
        for (word, parts) in [
            ("MEDIA_RESOLUTION_MEDIUM", vec![plain()]),
            ("MEDIA_RESOLUTION_LOW", vec![Part::text("x")]),
            ("MEDIA_RESOLUTION_LOW", vec![plain(), media(Media::Video, None)]),
        ] {
            assert!(!read_resolution(word, &mut request(parts).turns), "{word}");
        }
    }
}
