//! Bodies that come compressed although nobody asked for it.

use std::io::Write as _;

use bytes::{Buf as _, Bytes};
use flate2::write::GzDecoder;
use http::HeaderValue;

/// Compressed bytes taken at once. Gzip makes at most a thousand of one, so this bounds a piece.
const MOUTHFUL: usize = 4 * 1024;

/// A body on its way out of gzip.
#[derive(Debug)]
pub(crate) struct Gunzip {
    decoder: GzDecoder<Vec<u8>>,
    /// What has come and is not decoded yet.
    rest: Bytes,
}

impl Gunzip {
    /// What undoes a body's coding; nothing for one that has none.
    ///
    /// # Errors
    /// A coding that is not known here, in words for the log.
    pub(crate) fn of(coding: Option<&HeaderValue>) -> Result<Option<Box<Self>>, String> {
        match coding.map(|coding| coding.as_bytes().to_ascii_lowercase()).as_deref() {
            None | Some(b"" | b"identity") => Ok(None),
            Some(b"gzip" | b"x-gzip") => {
                let decoder = GzDecoder::new(Vec::new());
                Ok(Some(Box::new(Self { decoder, rest: Bytes::new() })))
            }
            Some(other) => {
                let other = String::from_utf8_lossy(other);
                Err(format!("the body is coded in `{other}`, which was not asked for"))
            }
        }
    }

    /// Takes the next compressed piece.
    pub(crate) fn feed(&mut self, piece: Bytes) {
        self.rest = piece;
    }

    /// The next piece of what was fed, if there is any more; never an empty one.
    ///
    /// # Errors
    /// It is not gzip.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, String> {
        while !self.rest.is_empty() {
            let mouthful = self.rest.len().min(MOUTHFUL);
            let taken = self.decoder.write(&self.rest[..mouthful]);
            self.rest.advance(taken.map_err(|error| error.to_string())?.max(1));
            self.decoder.flush().map_err(|error| error.to_string())?;
            let out = std::mem::take(self.decoder.get_mut());
            if !out.is_empty() {
                return Ok(Some(out.into()));
            }
        }
        Ok(None)
    }

    /// The compressed body has ended: what is left of it, if anything.
    ///
    /// # Errors
    /// It was cut.
    pub(crate) fn end(&mut self) -> Result<Option<Bytes>, String> {
        self.decoder.try_finish().map_err(|error| error.to_string())?;
        let out = std::mem::take(self.decoder.get_mut());
        Ok((!out.is_empty()).then(|| out.into()))
    }
}

#[cfg(test)]
mod tests {
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip() -> Box<Gunzip> {
        let coding = HeaderValue::from_static("GZIP");
        Gunzip::of(Some(&coding)).unwrap().unwrap()
    }

    fn zipped(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn however_it_comes_it_is_what_it_was() {
        let text = "data: {\"words\":\"Grüße\"}\n\n".repeat(5_000);
        for size in [1, 7, 100_000] {
            let (mut gunzip, mut out) = (gzip(), Vec::new());
            for piece in zipped(text.as_bytes()).chunks(size) {
                gunzip.feed(Bytes::copy_from_slice(piece));
                while let Some(piece) = gunzip.next().unwrap() {
                    out.extend_from_slice(&piece);
                }
            }
            out.extend(gunzip.end().unwrap().unwrap_or_default());
            assert!(out == text.as_bytes());
        }
    }

    #[test]
    fn what_was_flushed_is_here_before_the_end() {
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(b"data: 1\n\n").unwrap();
        encoder.flush().unwrap();
        let mut gunzip = gzip();
        gunzip.feed(encoder.get_ref().clone().into());
        assert_eq!(gunzip.next().unwrap(), Some(Bytes::from_static(b"data: 1\n\n")));
    }

    #[test]
    fn a_bomb_goes_off_in_small_pieces() {
        let mut gunzip = gzip();
        gunzip.feed(zipped(&vec![0; 50_000_000]).into());
        let mut whole = 0;
        while let Some(piece) = gunzip.next().unwrap() {
            assert!(piece.len() < 8 << 20, "{}", piece.len());
            whole += piece.len();
        }
        assert_eq!(whole + gunzip.end().unwrap().map_or(0, |rest| rest.len()), 50_000_000);
    }

    #[test]
    fn what_is_no_gzip_or_was_cut_is_an_error() {
        let mut gunzip = gzip();
        gunzip.feed(Bytes::from_static(b"{\"this is\":\"JSON\"}"));
        assert!(gunzip.next().is_err());
        let whole = zipped(b"some words");
        let mut gunzip = gzip();
        gunzip.feed(Bytes::copy_from_slice(&whole[..whole.len() - 9]));
        while gunzip.next().unwrap().is_some() {}
        assert!(gunzip.end().is_err());
        assert!(Gunzip::of(Some(&HeaderValue::from_static("br"))).is_err());
        assert!(Gunzip::of(Some(&HeaderValue::from_static("identity"))).unwrap().is_none());
    }
}
