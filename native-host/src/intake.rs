//! Reading a body to its end, but never more of it than allowed.

use bytes::{Bytes, BytesMut};
use hyper::body::{Body, Incoming};

use crate::room::Held;

/// Why a body could not be had whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntakeError {
    /// It is larger than allowed.
    TooLarge,
    /// There is no room for it now.
    NoRoom,
    /// The connection broke before its end, or its framing is no HTTP.
    Broken,
}

/// The whole body, of at most `limit` bytes.
pub(crate) async fn read(body: &mut Incoming, limit: usize) -> Result<Bytes, IntakeError> {
    read_within(body, limit, &mut Held::default()).await
}

/// The same, while there is room for it.
pub(crate) async fn read_within(
    body: &mut Incoming,
    limit: usize,
    held: &mut Held,
) -> Result<Bytes, IntakeError> {
    let announced = body.size_hint().lower();
    if usize::try_from(announced).unwrap_or(usize::MAX) > limit {
        return Err(IntakeError::TooLarge);
    }
    let Some(first) = next(body).await? else { return Ok(Bytes::new()) };
    if first.len() > limit {
        return Err(IntakeError::TooLarge);
    }
    room_for(&first, held)?;
    if body.is_end_stream() {
        return Ok(first);
    }
    let mut whole =
        BytesMut::with_capacity(first.len().max(usize::try_from(announced).unwrap_or(0)));
    whole.extend_from_slice(&first);
    while let Some(piece) = next(body).await? {
        if whole.len() + piece.len() > limit {
            return Err(IntakeError::TooLarge);
        }
        room_for(&piece, held)?;
        whole.extend_from_slice(&piece);
    }
    Ok(whole.freeze())
}

fn room_for(piece: &Bytes, held: &mut Held) -> Result<(), IntakeError> {
    if held.grow(piece.len()) { Ok(()) } else { Err(IntakeError::NoRoom) }
}

/// Takes what is still coming and keeps none of it, up to `limit` bytes: most clients read an answer
/// only once they have sent everything, and closing on them would lose it.
pub(crate) async fn drop_rest(mut body: Incoming, limit: usize) {
    let mut dropped = 0;
    while let Ok(Some(piece)) = next(&mut body).await {
        dropped += piece.len();
        if dropped > limit {
            return;
        }
    }
}

/// The next piece of data; trailers are skipped.
async fn next(body: &mut Incoming) -> Result<Option<Bytes>, IntakeError> {
    loop {
        let frame = std::future::poll_fn(|context| {
            Body::poll_frame(std::pin::Pin::new(&mut *body), context)
        });
        match frame.await {
            None => return Ok(None),
            Some(Err(_)) => return Err(IntakeError::Broken),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}
