//! Content that is what its head says, or ends visibly.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::Waker;

use http_body::{Body, Frame};

use super::*;

/// A step of a body.
enum Next {
    Data(&'static str),
    Trailers(&'static [(&'static str, &'static str)]),
    Waits,
    Fails,
    Panics,
}

struct Steps(VecDeque<Next>);

impl Body for Steps {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        Poll::Ready(Some(match self.0.pop_front() {
            None => return Poll::Ready(None),
            Some(Next::Waits) => return Poll::Pending,
            Some(Next::Data(data)) => Ok(Frame::data(data.into())),
            Some(Next::Trailers(lines)) => {
                let line =
                    |(name, value): &(&str, &str)| (name.parse().unwrap(), value.parse().unwrap());
                Ok(Frame::trailers(
                    lines.iter().map(line).collect::<HeaderMap>(),
                ))
            }
            Some(Next::Fails) => Err("on purpose"),
            Some(Next::Panics) => panic!("on purpose"),
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        assert!(!matches!(self.0.front(), Some(Next::Panics)), "on purpose");
    }
}

fn content(steps: Vec<Next>, length: Option<u64>) -> StreamedContent {
    StreamedContent::new(Box::pin(Steps(steps.into())), length)
}

/// What comes, as text, in pieces of 4 bytes at most.
fn said(mut content: StreamedContent) -> String {
    let context = &mut Context::from_waker(Waker::noop());
    let mut said = String::new();
    loop {
        match content.poll_next(context, 4) {
            Poll::Pending => said.push_str(" waits"),
            Poll::Ready(Ok(NextPiece::Content(piece, is_last))) => {
                assert!(!piece.is_empty() && piece.len() <= 4);
                said.push_str(std::str::from_utf8(&piece).unwrap());
                if is_last {
                    return said + " last";
                }
            }
            Poll::Ready(Ok(NextPiece::End(trailers))) => {
                let lines = trailers.unwrap_or_default();
                let lines = lines
                    .iter()
                    .map(|(name, value)| format!(" {name}={}", value.escape_ascii()));
                return said + " end" + &lines.collect::<String>();
            }
            Poll::Ready(Err(error)) => {
                assert!(is_of_handler(&error) && !is_of_handler(&io::ErrorKind::TimedOut.into()));
                return format!("{said} error: {error}");
            }
        }
    }
}

#[track_caller]
fn check(steps: Vec<Next>, length: Option<u64>, expected: &str) {
    let said = said(content(steps, length));
    assert!(
        said.starts_with(expected) && (said == expected || expected.contains("error")),
        "{said}"
    );
}

use Next::{Data, Fails, Panics, Trailers, Waits};

#[test]
fn pieces_come_as_they_are_and_the_last_is_known_where_it_can_be() {
    check(vec![], None, " end");
    check(vec![Data("abc")], None, "abc last");
    check(vec![Data("abcdefghi")], None, "abcdefghi last");
    check(
        vec![Data(""), Data("a"), Data(""), Waits, Data("b")],
        None,
        "a waitsb last",
    );
    check(vec![Data("a"), Data("")], None, "a end");
    // The end of content whose length is known is asked for at once: the client may give no window for it.
    check(vec![Data("ab"), Data("c"), Data("")], Some(3), "abc last");
    check(vec![Data("abc"), Waits], Some(3), "abc end");
}

#[test]
fn trailers_end_content_and_only_those_that_may_be_are_sent() {
    check(vec![Data("a"), Trailers(&[("x", "1")])], None, "a end x=1");
    check(
        vec![Data("a"), Trailers(&[("x", "1")])],
        Some(1),
        "a end x=1",
    );
    let wrong = &[("content-length", "5"), ("set-cookie", "a"), ("y", "2")];
    check(vec![Trailers(wrong), Data("behind them")], None, " end y=2");
    check(vec![Data("a"), Trailers(&[("host", "b")])], None, "a end");
}

#[test]
fn a_length_that_is_a_lie_never_looks_whole() {
    check(
        vec![Data("ab")],
        Some(3),
        " error: the content of a handler's answer is shorter",
    );
    check(
        vec![Data("ab"), Data("")],
        Some(3),
        "ab error: the content of a handler's answer is shorter",
    );
    check(
        vec![Data("ab"), Trailers(&[])],
        Some(3),
        "ab error: the content of a handler's answer is shorter",
    );
    check(
        vec![],
        Some(3),
        " error: the content of a handler's answer is shorter",
    );
    check(
        vec![Data("abcd")],
        Some(3),
        " error: the content of a handler's answer is longer",
    );
    // The last byte that would make it look whole is kept back.
    check(
        vec![Data("abc"), Data("d")],
        Some(3),
        " error: the content of a handler's answer is longer",
    );
    check(
        vec![Data("abc"), Fails],
        Some(3),
        " error: the content of a handler's answer failed: on purpose",
    );
}

#[test]
fn failures_and_panics_end_it() {
    check(
        vec![Data("a"), Fails, Data("b")],
        None,
        "a error: the content of a handler's answer failed: on purpose",
    );
    check(
        vec![Data("a"), Panics],
        None,
        "a error: the content of a handler's answer panicked",
    );
    // So does a panic when it is dropped.
    drop(content(vec![Panics], None));
    let context = &mut Context::from_waker(Waker::noop());
    assert!(content(vec![Fails], None).take_whole(context, 10).is_err());
}

#[test]
fn what_is_here_at_once_is_taken_whole_and_nothing_is_lost() {
    let context = &mut Context::from_waker(Waker::noop());
    let mut check = |steps, most, whole: Option<&'static str>, rest| {
        let mut content = content(steps, None);
        let taken = content.take_whole(context, most).unwrap();
        assert_eq!(taken.as_deref(), whole.map(str::as_bytes));
        assert_eq!(said(content), rest);
    };
    check(vec![Data("abc")], 3, Some("abc"), " end");
    check(vec![Data("abc")], 2, None, "abc last");
    check(vec![], 3, Some(""), " end");
    check(vec![Data("a"), Data("b")], 3, None, "ab last");
    check(vec![Waits, Data("a")], 3, None, "a last");
    check(
        vec![Data("a"), Trailers(&[("x", "1")])],
        3,
        None,
        "a end x=1",
    );
}

#[test]
fn an_end_is_found_without_a_window_and_nothing_is_lost_before_it() {
    let context = &mut Context::from_waker(Waker::noop());
    let trailers = &[("x", "1")];
    let mut ended = content(vec![Next::Waits, Next::Trailers(trailers)], None);
    assert!(ended.poll_end(context).is_pending());
    let end = ended.poll_end(context);
    assert!(matches!(end, Poll::Ready(Ok(Some(lines))) if lines.len() == 1));
    let mut some = content(vec![Next::Data("ab")], None);
    assert!(some.poll_end(context).is_pending() && some.poll_end(context).is_pending());
    let next = some.poll_next(context, 10);
    assert!(matches!(next, Poll::Ready(Ok(NextPiece::Content(piece, true))) if piece == "ab"));
    let mut failed = content(vec![Next::Fails], None);
    assert!(matches!(failed.poll_end(context), Poll::Ready(Err(_))));
}

#[test]
fn empty_frames_take_one_turn_and_no_more() {
    let (wakes, waker) = salver_test::Wakes::new();
    let context = &mut Context::from_waker(&waker);
    let mut steps: Vec<_> = (0..100).map(|_| Next::Data("")).collect();
    steps.push(Next::Data("at last"));
    let mut content = content(steps, Some(7));
    let mut turns = 1;
    while content.poll_next(context, 10).is_pending() {
        assert_eq!(wakes.count(), turns, "it goes on in the next one");
        turns += 1;
    }
    assert_eq!(turns, 4);
    assert!(content.is_complete());
}

#[test]
fn what_is_polled_and_not_sent_counts_as_memory() {
    use crate::memory_budget::MemoryBudget;
    let account = MemoryBudget::new(1 << 20, 0).open(0, false).unwrap();
    let context = &mut Context::from_waker(Waker::noop());
    let mut content = content(vec![Next::Data("0123456789"), Next::Waits], None);
    let room = account.room();
    content.charge_to(&account);
    for left in [7, 4, 1, 0] {
        assert!(content.poll_next(context, 3).is_ready());
        assert_eq!(room - account.room(), left);
    }
}
