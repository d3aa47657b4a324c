//! Requests whose content has not come whole: kept until it has, or given to the caller before.

use salver_fields::RequestHead;
use salver_semantics::Method;

/// The flow-control window of a stream's content (RFC 9113 section 6.9.2): this side announces no other.
pub(crate) const CONTENT_WINDOW: u32 = 65_535;

/// The bytes of content that the caller has done with before the window of their stream is widened by as many.
const WINDOW_STEP: u32 = 32 * 1024;

/// The count of a request's content.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ContentCount {
    /// The bytes received.
    pub(crate) received: u64,
    /// The length that the client has announced.
    pub(crate) expected: Option<u64>,
}

impl ContentCount {
    pub(crate) fn new(expected: Option<u64>) -> Self {
        ContentCount {
            received: 0,
            expected,
        }
    }

    /// Counts a piece, behind which the content `ends` or not; false if the announced length is a lie (RFC 9113
    /// section 8.1.1).
    pub(crate) fn add(&mut self, piece: &[u8], ends: bool) -> bool {
        let length = u64::try_from(piece.len()).unwrap_or(u64::MAX);
        self.received = self.received.saturating_add(length);
        match self.expected {
            Some(expected) if ends => self.received == expected,
            Some(expected) => self.received <= expected,
            None => true,
        }
    }
}

/// A request whose content is awaited.
#[derive(Debug)]
pub(crate) struct IncomingRequest {
    pub(crate) request: RequestHead<'static>,
    pub(crate) count: ContentCount,
    /// The memory that the request takes, in bytes.
    pub(crate) held: usize,
}

/// The content of a request that has been given to the caller.
#[derive(Debug)]
pub(crate) struct IncomingContent {
    pub(crate) method: Method,
    pub(crate) count: ContentCount,
    /// The bytes that the client may still send.
    window: u32,
    /// The bytes that the caller has done with, by which the window has not been widened.
    done: u32,
}

impl IncomingContent {
    pub(crate) fn new(method: Method, expected: Option<u64>) -> Self {
        IncomingContent {
            method,
            count: ContentCount::new(expected),
            window: CONTENT_WINDOW,
            done: 0,
        }
    }

    /// True if it is that of CONNECT.
    pub(crate) fn is_of_connect(&self) -> bool {
        self.method == Method::Connect
    }

    /// The bytes that the client may still send.
    pub(crate) fn window(&self) -> u32 {
        self.window
    }

    /// Counts the payload of a frame, with its padding; false if it is longer than the window.
    pub(crate) fn receive(&mut self, payload: u32) -> bool {
        let left = self.window.checked_sub(payload);
        self.window = left.unwrap_or_default();
        left.is_some()
    }

    /// Notes that the caller has done with so many bytes; those by which the window is to be widened now, if any.
    pub(crate) fn release(&mut self, bytes: u32) -> Option<u32> {
        let received = CONTENT_WINDOW - self.window;
        self.done = self.done.saturating_add(bytes).min(received);
        (self.done >= WINDOW_STEP).then(|| {
            self.window += self.done;
            std::mem::take(&mut self.done)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_never_left_without_window_once_all_is_done_with() {
        let mut content = IncomingContent::new(Method::Post, None);
        let mut granted = u64::from(CONTENT_WINDOW);
        let mut sent = 0;
        for step in 1..2000u32 {
            let bytes = (step * 7919 % 16_384).min(content.window);
            assert!(bytes > 0, "after {sent}");
            assert!(content.receive(bytes));
            sent += u64::from(bytes);
            granted += u64::from(content.release(bytes).unwrap_or_default());
            assert_eq!(granted - sent, u64::from(content.window));
        }
        assert!(!content.receive(content.window + 1));
        // More than was received is never given back.
        assert_eq!(content.release(u32::MAX), Some(CONTENT_WINDOW));
        assert_eq!((content.window, content.release(1)), (CONTENT_WINDOW, None));
    }

    #[test]
    fn an_announced_length_is_no_lie() {
        let check = |expected, pieces: &[usize], right: bool| {
            let mut count = ContentCount::new(expected);
            let last = pieces.len() - 1;
            let mut pieces = pieces.iter().enumerate();
            let is_right = pieces.all(|(at, &length)| count.add(&vec![0; length], at == last));
            assert_eq!(is_right, right, "{expected:?}");
        };
        check(None, &[5, 0], true);
        check(Some(5), &[5, 0], true);
        check(Some(5), &[2, 3], true);
        check(Some(5), &[2, 2], false);
        check(Some(5), &[6, 0], false);
        check(Some(0), &[0], true);
    }
}
