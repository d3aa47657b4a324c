//! The content of a request under way: where it goes, how fast it comes, and whether its client waits to be told.

use std::sync::Arc;
use std::task::Context;
use std::time::Instant;

use http::{HeaderMap, HeaderName, HeaderValue};
use salver_http1::BodyBuffer;
use salver_semantics::message::may_be_trailer;

use super::content_buffer::MemoryExhausted;
use super::receive_pace::ReceivePace;
use super::request_body::{ContentSender, RequestBody};
use crate::memory_budget::Account;
use crate::settings::Settings;

/// The content of a request under way, as its connection sees it.
pub(crate) struct IncomingContent {
    pub(crate) sender: ContentSender,
    pace: ReceivePace,
    /// True while the client waits for `100 Continue`.
    expects_continue: bool,
}

impl IncomingContent {
    /// Content of `length` bytes, if that is announced, and what its handler is given.
    pub(crate) fn new(
        account: &Arc<Account>,
        length: Option<u64>,
        expects_continue: bool,
    ) -> (Self, RequestBody) {
        let (sender, body) = ContentSender::new(account, length);
        let content = IncomingContent {
            sender,
            pace: ReceivePace::default(),
            expects_continue,
        };
        (content, body)
    }

    /// Appends content by `append`, for which so many bytes were received.
    pub(crate) fn receive<R>(
        &mut self,
        bytes: usize,
        append: impl FnOnce(&mut BodyBuffer) -> R,
    ) -> (R, Result<(), MemoryExhausted>) {
        self.pace.receive(bytes);
        self.sender.receive(bytes, append)
    }

    /// True if the client has to be told now that its content is wanted; it is told once.
    pub(crate) fn is_continue_due(&mut self, context: &Context<'_>) -> bool {
        let is_due = self.expects_continue && self.sender.is_asked_for(context);
        self.expects_continue &= !is_due;
        is_due
    }

    /// Has the client never told: its answer begins. True if it waits for that.
    pub(crate) fn forget_continue(&mut self) -> bool {
        std::mem::take(&mut self.expects_continue)
    }

    /// True if the client, which is waited for, sends too slowly: see [`ReceivePace`].
    pub(crate) fn is_late(&mut self, now: Instant, settings: &Settings) -> bool {
        self.pace.is_late(self.sender.waits(), now, settings)
    }

    /// The time since which the client is waited for, if it is.
    pub(crate) fn waits_since(&self) -> Option<Instant> {
        self.pace.since()
    }
}

/// The trailers that a handler is given: those that may be trailers, as others would be taken for fields of the head.
pub(crate) fn trailers<'l>(lines: impl Iterator<Item = (&'l [u8], &'l [u8])>) -> Option<HeaderMap> {
    let mut trailers = HeaderMap::new();
    for (name, value) in lines {
        if let (Ok(name), Ok(value)) =
            (HeaderName::from_bytes(name), HeaderValue::from_bytes(value))
            && may_be_trailer(name.as_str())
        {
            trailers.append(name, value);
        }
    }
    (!trailers.is_empty()).then_some(trailers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_fields_that_may_be_trailers_are_given() {
        let lines = [
            (&b"Grpc-Status"[..], &b"0"[..]),
            (b"Content-Length", b"5"),
            (b"AUTHORIZATION", b"x"),
            (b"a b", b"no name"),
            (b"x-a", b"1"),
            (b"x-a", b"2"),
        ];
        let given = trailers(lines.into_iter()).unwrap();
        let lines = given
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes()));
        let expected = [("grpc-status", b"0"), ("x-a", b"1"), ("x-a", b"2")];
        assert!(
            lines.eq(expected.map(|(name, value)| (name, &value[..]))),
            "{given:?}"
        );
        assert_eq!(trailers([(&b"Host"[..], &b"a"[..])].into_iter()), None);
    }
}
