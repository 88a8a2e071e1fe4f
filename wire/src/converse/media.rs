//! Formats of media by their types.

use crate::neutral::Media;

/// A format's name, the kind of media, and its types; the first is the one it is read as.
const FORMATS: &[(&str, Media, &[&str])] = &[
    ("png", Media::Image, &["image/png"]),
    ("jpeg", Media::Image, &["image/jpeg", "image/jpg"]),
    ("gif", Media::Image, &["image/gif"]),
    ("webp", Media::Image, &["image/webp"]),
    ("pdf", Media::File, &["application/pdf"]),
    ("csv", Media::File, &["text/csv"]),
    ("doc", Media::File, &["application/msword"]),
    (
        "docx",
        Media::File,
        &["application/vnd.openxmlformats-officedocument.wordprocessingml.document"],
    ),
    ("xls", Media::File, &["application/vnd.ms-excel"]),
    ("xlsx", Media::File, &["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"]),
    ("html", Media::File, &["text/html"]),
    ("txt", Media::File, &["text/plain"]),
    ("md", Media::File, &["text/markdown"]),
    ("mp3", Media::Audio, &["audio/mpeg", "audio/mp3"]),
    ("wav", Media::Audio, &["audio/wav", "audio/x-wav", "audio/wave"]),
    ("flac", Media::Audio, &["audio/flac"]),
    ("aac", Media::Audio, &["audio/aac"]),
    ("ogg", Media::Audio, &["audio/ogg"]),
    ("opus", Media::Audio, &["audio/opus"]),
    ("m4a", Media::Audio, &["audio/mp4", "audio/m4a", "audio/x-m4a"]),
    ("webm", Media::Audio, &["audio/webm"]),
    ("pcm", Media::Audio, &["audio/pcm", "audio/l16"]),
    ("mp4", Media::Video, &["video/mp4"]),
    ("mov", Media::Video, &["video/quicktime", "video/mov"]),
    ("mkv", Media::Video, &["video/x-matroska"]),
    ("webm", Media::Video, &["video/webm"]),
    ("flv", Media::Video, &["video/x-flv"]),
    ("mpeg", Media::Video, &["video/mpeg", "video/mpg"]),
    ("wmv", Media::Video, &["video/x-ms-wmv", "video/wmv"]),
    ("three_gp", Media::Video, &["video/3gpp"]),
];

/// The format that a type is of. A document of which nobody says what it is is a PDF.
pub(super) fn format_of(media: Media, mime: Option<&str>) -> Option<&'static str> {
    if media == Media::File && mime.is_none() {
        return Some("pdf");
    }
    let mime = mime?.split(';').next().unwrap_or_default().trim();
    let fits = |types: &[&str]| types.iter().any(|one| one.eq_ignore_ascii_case(mime));
    let found = FORMATS.iter().find(|(_, kind, types)| *kind == media && fits(types));
    found.map(|(format, ..)| *format)
}

/// The type of a format.
pub(super) fn type_of(media: Media, format: &str) -> Option<&'static str> {
    let found = FORMATS.iter().find(|(name, kind, _)| *kind == media && *name == format);
    found.and_then(|(_, _, types)| types.first().copied())
}

/// The member that holds such a medium.
pub(super) const fn member_of(media: Media) -> &'static str {
    match media {
        Media::Image => "image",
        Media::Audio => "audio",
        Media::Video => "video",
        Media::File => "document",
        Media::SearchResult => "searchResult",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_there_and_back() {
        for (format, media, types) in FORMATS {
            for mime in *types {
                assert_eq!(format_of(*media, Some(mime)), Some(*format), "{mime}");
            }
            assert_eq!(type_of(*media, format), Some(types[0]));
        }
        assert_eq!(format_of(Media::Image, Some("IMAGE/PNG; q=1")), Some("png"));
        assert_eq!(format_of(Media::Image, Some("image/tiff")), None);
        assert_eq!(
            (format_of(Media::Image, None), format_of(Media::File, None)),
            (None, Some("pdf"))
        );
    }
}
