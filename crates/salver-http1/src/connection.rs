//! The receiving side of one connection as a state machine: its bytes divided into messages (RFC 9112 section 9).

use core::mem;

use salver_semantics::Refusal;

use crate::body::{BodyBuffer, BodyDecoder};
use crate::error::ParseError;
use crate::framing::BodyLength;
use crate::limits::Limits;
use crate::request::{self, MAX_EMPTY_LINES, RequestHead};
use crate::request_line;

/// An event on a connection, given by the bytes so far.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event<'b> {
    /// No event yet: call again when there is more input.
    Incomplete,
    /// A whole request: answer it now.
    Request(RequestHead<'b>),
    /// A request whose body follows. Keep the head ([`RequestHead::into_owned`]), go on calling
    /// [`Connection::receive`] until [`Event::BodyEnd`], then answer it.
    Body {
        /// The head of the request.
        head: RequestHead<'b>,
        /// True if [`CONTINUE`](crate::CONTINUE) is to be sent first: the client waits for it.
        send_continue: bool,
    },
    /// The body of the request that was given with [`Event::Body`] has come whole.
    BodyEnd,
    /// Send this answer and close: where the next request would begin is in doubt.
    Refuse(Refusal),
}

/// The phase of a connection, which decides the time limit that applies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Between requests: no byte of the next head has been received.
    Idle,
    /// A part of a head has been received.
    Head,
    /// A body is awaited.
    Body,
    /// No further request will be read.
    Closed,
}

/// The receiving side of one connection.
///
/// ```text
///            some bytes              head without a body, persistent
///      ┌─── Idle ◀───────────────────────────────────┐
///      │     ▲  └────────────────▶ Head ─────────────┤
///      │     │                      │ head with a body
///      │     │ whole, persistent    ▼                │
///      │     └──────────────────── Body              │ not persistent, or refused
///      │                            │ whole and      ▼
///      └────────────────────────────┴─────────▶ Closed
/// ```
#[derive(Debug)]
pub struct Connection {
    state: ReceiveState,
}

/// `Idle` and `Head` are one state here: [`HeadSearch::searched`] tells them apart.
#[derive(Debug)]
enum ReceiveState {
    Head(HeadSearch),
    Body {
        decoder: BodyDecoder,
        persistent: bool,
    },
    Closed,
}

/// The search for the end of a head, as far as it has gone.
///
/// The bytes of a head that comes in pieces are searched once each; they are parsed when the first
/// of them come, when the request line has ended, and when the head has ended. So the time that a
/// head takes is linear in its length, however small the pieces, and what is wrong with a request
/// line is said without waiting for more.
#[derive(Default, Debug)]
struct HeadSearch {
    /// The number of empty lines before the request line.
    empty_lines: usize,
    /// The number of bytes that don't have to be searched again.
    searched: usize,
    /// True once the request line has ended.
    has_line: bool,
}

impl Default for Connection {
    fn default() -> Self {
        Connection::new()
    }
}

impl Connection {
    /// A connection on which nothing has been received.
    pub fn new() -> Connection {
        Connection {
            state: ReceiveState::Head(HeadSearch::default()),
        }
    }

    /// The phase of the connection.
    pub fn phase(&self) -> Phase {
        match &self.state {
            ReceiveState::Head(HeadSearch { searched: 0, .. }) => Phase::Idle,
            ReceiveState::Head(_) => Phase::Head,
            ReceiveState::Body { .. } => Phase::Body,
            ReceiveState::Closed => Phase::Closed,
        }
    }

    /// The bytes of content that are still to come of the body which is awaited: 0 if none is, `None` if its length is
    /// not known before its end (the chunked coding).
    pub fn content_left(&self) -> Option<u64> {
        match &self.state {
            ReceiveState::Body { decoder, .. } => decoder.content_left(),
            ReceiveState::Head(_) | ReceiveState::Closed => Some(0),
        }
    }

    /// Takes the bytes that have been received and not yet been consumed: those of the last call that it didn't
    /// consume, and those that came since. Returns the number of bytes consumed, and the event; the bytes of a head
    /// are consumed with its event.
    ///
    /// Until the event is [`Event::Incomplete`], call again with what is left: it may hold another
    /// request. With [`Event::Incomplete`] fewer than `limits.max_head` bytes are left over, so that
    /// a buffer of that size always has room for more. On a closed connection all input is consumed.
    ///
    /// `limits` should be the same in each call. The bodies of requests are
    /// appended to `buffer`, or dropped.
    #[inline]
    pub fn receive<'b>(
        &mut self,
        limits: &Limits,
        input: &'b [u8],
        buffer: Option<&mut BodyBuffer>,
    ) -> (usize, Event<'b>) {
        // A request is written where the caller finds it: a head is large, and to move it once costs
        // about a tenth of reading it.
        let mut outcome = (0, Event::Request(RequestHead::blank()));
        self.receive_into(limits, input, buffer, &mut outcome);
        outcome
    }

    /// As [`Connection::receive`]. `outcome` holds a blank request, and then the outcome.
    #[inline(never)]
    fn receive_into<'b>(
        &mut self,
        limits: &Limits,
        input: &'b [u8],
        buffer: Option<&mut BodyBuffer>,
        (consumed, event): &mut (usize, Event<'b>),
    ) {
        let Event::Request(head) = event else {
            return;
        };
        let step = self.advance(limits, input, buffer, head);
        let (length, step) = step.unwrap_or_else(|refusal| {
            self.state = ReceiveState::Closed;
            (input.len(), EventKind::Refuse(refusal))
        });
        *consumed = length;
        *event = match step {
            EventKind::Request => return,
            EventKind::Incomplete => Event::Incomplete,
            EventKind::Body => Event::Body {
                send_continue: head.expect_continue,
                head: mem::replace(head, RequestHead::blank()),
            },
            EventKind::BodyEnd => Event::BodyEnd,
            EventKind::Refuse(refusal) => Event::Refuse(refusal),
        };
    }

    /// Returns the number of bytes consumed, and the kind of the event; `head` is written if it has one.
    #[inline]
    fn advance<'b>(
        &mut self,
        limits: &Limits,
        input: &'b [u8],
        buffer: Option<&mut BodyBuffer>,
        head: &mut RequestHead<'b>,
    ) -> Result<(usize, EventKind), Refusal> {
        match &mut self.state {
            ReceiveState::Head(search) => match search.receive(limits, input, head)? {
                (consumed, false) => Ok((consumed, EventKind::Incomplete)),
                (consumed, true) if head.body == BodyLength::None => {
                    self.state = ReceiveState::after_request(head.persistent);
                    Ok((consumed, EventKind::Request))
                }
                (consumed, true) => {
                    self.state = ReceiveState::Body {
                        decoder: BodyDecoder::new(head.body, limits),
                        persistent: head.persistent,
                    };
                    Ok((consumed, EventKind::Body))
                }
            },
            ReceiveState::Body {
                decoder,
                persistent,
            } => match decoder.read(input, buffer)? {
                (consumed, false) => Ok((consumed, EventKind::Incomplete)),
                (consumed, true) => {
                    self.state = ReceiveState::after_request(*persistent);
                    Ok((consumed, EventKind::BodyEnd))
                }
            },
            ReceiveState::Closed => Ok((input.len(), EventKind::Incomplete)),
        }
    }
}

/// The kind of an [`Event`], whose head is elsewhere.
enum EventKind {
    Incomplete,
    Request,
    Body,
    BodyEnd,
    Refuse(Refusal),
}

impl ReceiveState {
    /// The state after a request: none is processed behind one that ends the connection (RFC 9112 section 9.6).
    fn after_request(persistent: bool) -> ReceiveState {
        if persistent {
            ReceiveState::Head(HeadSearch::default())
        } else {
            ReceiveState::Closed
        }
    }
}

impl HeadSearch {
    /// Returns the number of bytes consumed, and true if `head` holds a request now.
    fn receive<'b>(
        &mut self,
        limits: &Limits,
        input: &'b [u8],
        head: &mut RequestHead<'b>,
    ) -> Result<(usize, bool), ParseError> {
        let (lines, rest) = request_line::skip_empty_lines(input);
        let skipped = input.len() - rest.len();
        if lines > 0 {
            self.searched = 0;
            self.empty_lines += lines;
            if self.empty_lines > MAX_EMPTY_LINES {
                return Err(ParseError::EmptyLines);
            }
        }
        // The first bytes of a head are most often all of it: then there is nothing to search.
        let first = self.searched == 0;
        if (first || self.is_worth_parsing(limits, rest))
            && let Some(length) = request::parse_head(rest, limits, head)?
        {
            return Ok((skipped + length, true));
        }
        if first {
            self.is_worth_parsing(limits, rest);
        }
        Ok((skipped, false))
    }

    /// Searches the new bytes. True if parsing all of them will tell more than last time.
    fn is_worth_parsing(&mut self, limits: &Limits, input: &[u8]) -> bool {
        let mut line_ended = false;
        while let Some(rest) = input.get(self.searched..) {
            let Some(end) = rest.iter().position(|&byte| byte == b'\n') else {
                self.searched = input.len();
                break;
            };
            line_ended |= !self.has_line;
            self.has_line = true;
            match rest.get(end + 1..).unwrap_or_default() {
                [b'\n', ..] | [b'\r', b'\n', ..] => return true,
                // The next byte decides: this line end has to be found again.
                [] | [b'\r'] => {
                    self.searched += end;
                    break;
                }
                _ => self.searched += end + 1,
            }
        }
        line_ended
            || input.len() >= limits.max_head
            || (!self.has_line && input.len() >= request_line::longest(limits.max_target))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n";

    #[test]
    fn is_small() {
        assert!(size_of::<Connection>() <= 64, "{}", size_of::<Connection>());
    }

    /// The input of a driver after each read of `step` bytes, if nothing is consumed.
    fn reads(input: &[u8], step: usize) -> impl Iterator<Item = usize> {
        (step..input.len()).step_by(step).chain([input.len()])
    }

    /// The number of times that parsing is worth it if `input` comes in steps of `step` bytes.
    fn parses(input: &[u8], step: usize) -> usize {
        let limits = Limits::default();
        let mut search = HeadSearch::default();
        reads(input, step)
            .filter(|&end| search.is_worth_parsing(&limits, &input[..end]))
            .count()
    }

    #[test]
    fn a_head_in_pieces_is_parsed_when_its_parts_end() {
        let head = [HEAD, &b"X: 1234567890\r\n".repeat(90), b"\r\n"].concat();
        for step in [1, 2, 3, 5, 7, 100] {
            assert_eq!(parses(&head, step), 2, "{step}");
        }
        assert_eq!(parses(&head, head.len()), 1);
        assert_eq!(
            parses(&head[..head.len() - 1], 1),
            1,
            "the end has not come"
        );
        // Line ends that could be the beginning of the end, and are not.
        let head = b"A\r\nB\n\rC\r\r\n\rD\n\r\n";
        for step in 1..8 {
            assert_eq!(parses(head, step), 2, "{step}");
        }
    }

    #[test]
    fn each_byte_is_searched_once() {
        let limits = Limits::default();
        let mut search = HeadSearch::default();
        let input = [HEAD, &b"x".repeat(10_000)].concat();
        for end in 1..input.len() {
            search.is_worth_parsing(&limits, &input[..end]);
            let left = end - search.searched;
            assert!(left <= 2, "at {end}, {left} bytes are to be searched again");
        }
    }

    #[test]
    fn phases() {
        let limits = Limits::default();
        let mut connection = Connection::new();
        let mut check = |input: &[u8], consumed: usize, event: &str, phase: Phase| {
            let (actual, got) = connection.receive(&limits, input, None);
            let got = format!("{got:?}");
            assert!(got.starts_with(event), "{got}");
            assert_eq!(
                (actual, connection.phase()),
                (consumed, phase),
                "{}",
                input.escape_ascii()
            );
        };
        let whole = [HEAD, b"\r\n"].concat();
        check(b"", 0, "Incomplete", Phase::Idle);
        check(b"\r\n", 2, "Incomplete", Phase::Idle);
        check(b"\r", 0, "Incomplete", Phase::Head);
        check(b"\r\n", 2, "Incomplete", Phase::Idle);
        check(b"G", 0, "Incomplete", Phase::Head);
        check(HEAD, 0, "Incomplete", Phase::Head);
        check(HEAD, 0, "Incomplete", Phase::Head);
        check(&whole, whole.len(), "Request", Phase::Idle);
        check(b"", 0, "Incomplete", Phase::Idle);
        let sized = [HEAD, b"Content-Length: 3\r\nConnection: close\r\n\r\n"].concat();
        check(&sized, sized.len(), "Body", Phase::Body);
        check(b"", 0, "Incomplete", Phase::Body);
        check(b"xx", 2, "Incomplete", Phase::Body);
        check(b"xGET", 1, "BodyEnd", Phase::Closed);
        check(&whole, whole.len(), "Incomplete", Phase::Closed);
        connection = Connection::new();
        let mut check = |input: &[u8], event: &str, phase: Phase| {
            let (consumed, got) = connection.receive(&limits, input, None);
            assert!(format!("{got:?}").starts_with(event), "{got:?}");
            assert_eq!((consumed, connection.phase()), (input.len(), phase));
        };
        let chunked = [HEAD, b"Transfer-Encoding: chunked\r\n\r\n"].concat();
        check(&chunked, "Body", Phase::Body);
        check(b"0\r\n\r\n", "BodyEnd", Phase::Idle);
        check(&chunked, "Body", Phase::Body);
        check(b"x\r\n", "Refuse", Phase::Closed);
        check(&whole, "Incomplete", Phase::Closed);
    }

    #[test]
    fn empty_lines_are_counted_over_calls() {
        let limits = Limits::default();
        let whole = [HEAD, b"\r\n"].concat();
        let mut connection = Connection::new();
        for _ in 0..3 {
            for _ in 0..MAX_EMPTY_LINES {
                assert_eq!(
                    connection.receive(&limits, b"\r\n", None),
                    (2, Event::Incomplete)
                );
            }
            let (consumed, event) = connection.receive(&limits, &whole, None);
            assert!(consumed == whole.len() && matches!(event, Event::Request(_)));
        }
        for _ in 0..MAX_EMPTY_LINES {
            connection.receive(&limits, b"\n", None);
        }
        let (_, event) = connection.receive(&limits, b"\n", None);
        assert!(
            matches!(event, Event::Refuse(Refusal { status: 400, .. })),
            "{event:?}"
        );
    }

    #[test]
    fn what_can_be_refused_early_is() {
        let limits = Limits::default();
        let target = b"/".repeat(limits.max_target + 100);
        for (input, status) in [
            (b"GET /\r\n".to_vec(), 400),
            (b"GET / HTTP/2.0\r\n".to_vec(), 505),
            (b"PRI * HTTP/2.0\r\n".to_vec(), 505),
            ([b"GET ", target.as_slice()].concat(), 414),
            (
                [
                    b"GET ",
                    &target[..100],
                    b" HTTP/1.1\r\n",
                    &b"X: y\r\n".repeat(3000),
                ]
                .concat(),
                431,
            ),
            ([HEAD, &b"x".repeat(limits.max_head)].concat(), 431),
        ] {
            for step in [input.len(), 1, 7] {
                let mut connection = Connection::new();
                let refused = reads(&input, step).find_map(|end| {
                    match connection.receive(&limits, &input[..end], None) {
                        (0, Event::Incomplete) => None,
                        (_, Event::Refuse(refusal)) => Some(refusal.status),
                        other => panic!("{other:?}"),
                    }
                });
                assert_eq!(refused, Some(status), "in steps of {step}");
            }
        }
    }
}
