//! The content of a request under way: where it goes, how fast it comes, and whether its client waits to be told.

use std::sync::Arc;
use std::task::Context;
use std::time::Instant;

use http::{HeaderMap, HeaderName, HeaderValue};
use salver_http1::BodyBuffer;
use salver_semantics::message::may_be_trailer;

use super::content_buffer::MemoryExhausted;
use super::content_channel::ContentSender;
use super::receive_pace::ReceivePace;
use super::request_body::RequestBody;
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
        let (sender, channel) = ContentSender::new(account, length);
        let content = IncomingContent {
            sender,
            pace: ReceivePace::default(),
            expects_continue,
        };
        (content, RequestBody::incoming(channel))
    }

    /// Appends content by `append`, for which so many bytes were received. What frames it is no progress.
    pub(crate) fn receive<R>(
        &mut self,
        bytes: usize,
        append: impl FnOnce(&mut BodyBuffer) -> R,
    ) -> (R, Result<(), MemoryExhausted>) {
        let (result, appended, counted) = self.sender.receive(bytes, append);
        // Who sends it waits no longer to be told (RFC 9110 section 10.1.1).
        self.expects_continue &= appended == 0;
        self.pace.receive(appended);
        (result, counted)
    }

    /// True if the client has to be told now that its content is wanted; it is told once.
    pub(crate) fn is_continue_due(&mut self, context: &Context<'_>) -> bool {
        let is_due = self.expects_continue && self.sender.is_asked_for(context);
        self.expects_continue &= !is_due;
        is_due
    }

    /// Notes that an answer begins that is streamed, from which on the client may send whenever it wants. True if it has to
    /// be told first that its content is wanted: the answer may be made of that.
    pub(crate) fn begin_answer(&mut self) -> bool {
        self.pace = ReceivePace::default();
        let is_due = self.sender.begin_answer() && self.expects_continue;
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
    use std::task::Waker;
    use std::time::Duration;

    use super::*;
    use crate::memory_budget::MemoryBudget;

    #[test]
    fn what_frames_content_is_no_progress_and_nothing_is_owed_once_an_answer_begins() {
        let settings = Settings {
            idle_timeout: Duration::from_secs(8),
            ..Settings::default()
        };
        let account = MemoryBudget::new(1 << 30, 0).open(0, false).unwrap();
        // The second after which the client is late that sends frames without content, or with some.
        let late_after = |content: &[u8], begins_at: u64| {
            let (mut incoming, mut body) = IncomingContent::new(&account, None, false);
            let (start, mut context) = (Instant::now(), Context::from_waker(Waker::noop()));
            (0..60).find(|second| {
                while body.poll(&mut context).is_ready() {}
                if *second == begins_at {
                    incoming.begin_answer();
                }
                let now = start + Duration::from_secs(*second);
                let is_late = incoming.is_late(now, &settings);
                let append = |buffer: &mut BodyBuffer| buffer.content.extend_from_slice(content);
                let ((), counted) = incoming.receive(10_000, append);
                assert!(counted.is_ok());
                is_late
            })
        };
        assert_eq!(late_after(b"", 60), Some(8));
        assert_eq!(late_after(&[b'x'; 1000], 60), None);
        assert_eq!(late_after(b"", 5), None);
    }

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
