//! The frames that carry our requests, in each manner.

use crate::carried::Carried;
use crate::http2::flow::Window;
use crate::http2::frame::{Frame, flag, kind, setting};
use crate::http2::hpack::literal;
use crate::http2::socket::PREFACE;
use crate::session::Manner;

/// The largest frame that every server takes (RFC 9113 section 4.2).
const MAX_PAYLOAD: usize = 16_384;
/// Bytes of padding in the manner that pads.
const PADDING: u8 = 7;

/// What opens a connection, and the window that the server then has on it.
pub(crate) fn opening(manner: Manner) -> (Vec<u8>, u32) {
    let mut settings = vec![(setting::ENABLE_PUSH, 0)];
    match manner {
        Manner::Window(bytes) => settings.push((setting::INITIAL_WINDOW_SIZE, bytes)),
        Manner::Fragmented => settings.push((setting::HEADER_TABLE_SIZE, 0)),
        _ => {}
    }
    let mut bytes = PREFACE.to_vec();
    bytes.extend_from_slice(&Frame::settings(&settings).to_bytes());
    let mut window = Window::DEFAULT;
    if manner == Manner::Plain {
        let more = 1 << 20;
        bytes.extend_from_slice(&Frame::window_update(0, more).to_bytes());
        window += more;
    }
    (bytes, window)
}

/// The field section of a request.
pub(crate) fn headers(manner: Manner, stream: u32, request: &Carried) -> Vec<u8> {
    let block = literal(&request.fields);
    let end = if request.content.is_empty() {
        flag::END_STREAM
    } else {
        0
    };
    // No more pieces than an honest client makes: a server may count them.
    let size = match manner {
        Manner::Fragmented => block.len().div_ceil(4).clamp(1, MAX_PAYLOAD - 16),
        _ => MAX_PAYLOAD,
    };
    let mut out = Vec::new();
    let mut pieces = block.chunks(size).peekable();
    let mut is_first = true;
    loop {
        let piece = pieces.next().unwrap_or_default();
        let last = if pieces.peek().is_none() {
            flag::END_HEADERS
        } else {
            0
        };
        let frame = if !is_first {
            Frame::new(kind::CONTINUATION, last, stream, piece)
        } else if manner == Manner::Fragmented {
            // Depends on nothing, with the weight of 16 (RFC 7540 section 5.3.5).
            let mut payload = vec![PADDING, 0, 0, 0, 0, 15];
            payload.extend_from_slice(piece);
            payload.resize(payload.len() + usize::from(PADDING), 0);
            let flags = last | end | flag::PADDED | flag::PRIORITY;
            Frame::new(kind::HEADERS, flags, stream, payload)
        } else {
            Frame::new(kind::HEADERS, last | end, stream, piece)
        };
        out.extend_from_slice(&frame.to_bytes());
        is_first = false;
        if last != 0 {
            return out;
        }
    }
}

/// The field section behind the content, if there is one.
pub(crate) fn trailers(stream: u32, request: &Carried) -> Option<Frame> {
    (!request.trailers.is_empty()).then(|| Frame::headers(stream, literal(&request.trailers), true))
}

/// The next DATA frame of content that has not been sent, and how much of it goes; nothing if
/// the window is shut.
pub(crate) fn data(
    manner: Manner,
    stream: u32,
    unsent: &[u8],
    ends: bool,
    window: usize,
) -> (Option<Frame>, usize) {
    let (room, padding) = match manner {
        // A third at a time, so that there are several frames.
        Manner::Fragmented => (unsent.len().div_ceil(3), 1 + usize::from(PADDING)),
        _ => (unsent.len(), 0),
    };
    let length = room
        .min(MAX_PAYLOAD - padding)
        .min(window.saturating_sub(padding));
    if length == 0 {
        return (None, 0);
    }
    let end = if ends && length == unsent.len() {
        flag::END_STREAM
    } else {
        0
    };
    let piece = unsent.get(..length).unwrap_or_default();
    let frame = if padding == 0 {
        Frame::new(kind::DATA, end, stream, piece)
    } else {
        let mut payload = vec![PADDING];
        payload.extend_from_slice(piece);
        payload.resize(payload.len() + usize::from(PADDING), 0);
        Frame::new(kind::DATA, end | flag::PADDED, stream, payload)
    };
    (Some(frame), length)
}
