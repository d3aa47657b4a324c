//! Content from a connection to its handlers: bounded, counted, and told when it fails.

use std::future::Future;
use std::pin::pin;
use std::task::Waker;

use http_body::Body;
use salver_http1::BodyBuffer;
use salver_test::Wakes;

use super::*;
use crate::handler::content_buffer::MemoryExhausted;
use crate::handler::content_channel::{ContentSender, MOST};
use crate::memory_budget::{Account, LEAST, MemoryBudget};

fn account() -> Arc<Account> {
    MemoryBudget::new(1 << 30, 0).open(0, false).unwrap()
}

/// Both ends of some content.
fn content(account: &Arc<Account>, length: Option<u64>) -> (ContentSender, RequestBody) {
    let (sender, channel) = ContentSender::new(account, length);
    (sender, RequestBody::incoming(channel))
}

fn append(sender: &ContentSender, bytes: &[u8]) {
    let ((), _, counted) = sender.receive(bytes.len(), |buffer| {
        buffer.content.extend_from_slice(bytes);
    });
    assert_eq!(counted, Ok(()));
}

/// The next of some content, as text.
fn next(body: &mut RequestBody) -> String {
    let context = &mut Context::from_waker(Waker::noop());
    match Pin::new(body).poll_frame(context) {
        Poll::Pending => "waits".to_owned(),
        Poll::Ready(None) => "end".to_owned(),
        Poll::Ready(Some(Err(error))) => format!("{:?}", error.kind()),
        Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
            Ok(data) => data.escape_ascii().to_string(),
            Err(frame) => format!("{:?}", frame.into_trailers().unwrap()),
        },
    }
}

/// The content that is collected, if nothing has to be waited for.
fn collected(body: RequestBody) -> Option<io::Result<Bytes>> {
    let mut collecting = pin!(body.collect());
    match collecting
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(collected) => Some(collected),
        Poll::Pending => None,
    }
}

#[test]
fn pieces_are_put_together_until_they_are_taken() {
    let account = account();
    let context = &Context::from_waker(Waker::noop());
    let (sender, mut body) = content(&account, Some(5));
    assert!(!sender.is_asked_for(context) && !sender.waits());
    assert_eq!(
        (next(&mut body), body.size_hint().exact()),
        ("waits".to_owned(), Some(5))
    );
    assert!(sender.is_asked_for(context) && sender.waits());
    append(&sender, b"ab");
    append(&sender, b"c");
    assert!(!sender.waits() && !body.is_end_stream());
    assert_eq!(sender.taken(context), 0);
    assert_eq!(
        (next(&mut body), body.size_hint().exact()),
        ("abc".to_owned(), Some(2))
    );
    assert_eq!((sender.taken(context), sender.taken(context)), (3, 0));
    append(&sender, b"de");
    sender.finish(None);
    // What ends content after its end does nothing.
    sender.fail(io::ErrorKind::TimedOut, "");
    assert!(sender.has_ended());
    drop(sender);
    assert_eq!(next(&mut body), "de");
    assert!(body.is_end_stream());
    assert_eq!([next(&mut body), next(&mut body)], ["end", "end"]);
}

#[test]
fn trailers_come_last() {
    let (sender, mut body) = content(&account(), None);
    append(&sender, b"a");
    let trailers = [("x".parse().unwrap(), "1".parse().unwrap())];
    sender.finish(Some(trailers.into_iter().collect()));
    assert!(!body.is_end_stream());
    assert_eq!([next(&mut body), next(&mut body)], ["a", "{\"x\": \"1\"}"]);
    assert!(body.is_end_stream() && next(&mut body) == "end");
}

#[test]
fn what_fails_is_told_behind_what_has_come() {
    let (sender, mut body) = content(&account(), None);
    append(&sender, b"a");
    sender.fail(io::ErrorKind::InvalidData, "on purpose");
    let mut behind = body.for_next();
    assert_eq!([next(&mut body), next(&mut body)], ["a", "InvalidData"]);
    assert!(body.is_end_stream() && !behind.is_end_stream());
    assert_eq!(next(&mut behind), "InvalidData", "it is told, too");
    let (sender, mut body) = content(&account(), None);
    drop(sender);
    assert_eq!(
        [next(&mut body), next(&mut body)],
        ["ConnectionAborted", "end"],
        "it is given once"
    );
}

#[test]
fn no_more_is_received_than_there_is_room_for() {
    let account = account();
    let (wakes, waker) = Wakes::new();
    let context = &Context::from_waker(&waker);
    let (sender, mut body) = content(&account, None);
    assert_eq!(sender.room(&account, context), MOST);
    append(&sender, &vec![b'x'; MOST - 10]);
    assert_eq!(sender.room(&account, context), 10);
    append(&sender, &[b'x'; 10]);
    assert_eq!((sender.room(&account, context), wakes.count()), (0, 0));
    assert_eq!(next(&mut body).len(), MOST);
    assert_eq!((wakes.count(), sender.room(&account, context)), (1, MOST));
    // Nobody wants it any more.
    append(&sender, b"x");
    sender.room(&account, context);
    assert!(!sender.is_unwanted());
    drop(body);
    assert!(sender.is_unwanted());
    append(&sender, b"x");
    let held = LEAST - account.room().min(LEAST);
    assert_eq!(held, 0, "what nobody wants is not held");
}

#[test]
fn memory_counts_until_the_handler_drops_it_and_short_memory_stops_receiving() {
    let account = MemoryBudget::new(LEAST, 0).open(0, false).unwrap();
    let least = usize::try_from(LEAST).unwrap();
    let context = &Context::from_waker(Waker::noop());
    let (sender, mut body) = content(&account, None);
    assert_eq!(sender.room(&account, context), least);
    let fill = |count: usize| {
        let append = |buffer: &mut BodyBuffer| {
            buffer.content.reserve_exact(count);
            buffer.content.resize(buffer.content.len() + count, b'x');
        };
        sender.receive(count, append).2
    };
    assert_eq!(fill(least), Ok(()));
    assert_eq!(sender.room(&account, context), 0);
    let piece = {
        let context = &mut Context::from_waker(Waker::noop());
        match Pin::new(&mut body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => frame.into_data().unwrap(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(piece.len(), least);
    // While the handler is at it nothing more is received.
    let (wakes, waker) = Wakes::new();
    let waiting = &Context::from_waker(&waker);
    assert_eq!((sender.room(&account, waiting), wakes.count()), (0, 0));
    // One that asks for more has what there is, or none.
    assert_eq!(next(&mut body), "waits");
    assert_eq!(wakes.count(), 1);
    assert!(sender.room(&account, context) > 0);
    assert_eq!(fill(1), Err(MemoryExhausted));
    drop(piece);
    assert!(sender.room(&account, context) > 0);
    assert_eq!(fill(1), Ok(()));
}

#[test]
fn what_nobody_wants_needs_no_memory() {
    let account = MemoryBudget::new(LEAST, 0).open(0, false).unwrap();
    let (sender, body) = content(&account, None);
    let kept = account.charge(usize::try_from(LEAST).unwrap());
    drop(body);
    for _ in 0..10 {
        append(&sender, &[b'x'; 10_000]);
    }
    assert_eq!(kept.bytes(), usize::try_from(LEAST).unwrap());
}

#[test]
fn a_handler_that_turns_to_something_else_does_not_wait_for_the_client() {
    let (sender, mut body) = content(&account(), None);
    let watch = body.watch().unwrap();
    let (wakes, waker) = Wakes::new();
    let context = &mut Context::from_waker(&waker);
    assert!(Pin::new(&mut body).poll_frame(context).is_pending());
    let (_, other) = Wakes::new();
    watch.go_on(&Context::from_waker(&other));
    assert!(sender.waits(), "another task has the content");
    watch.go_on(context);
    let turned = watch.busy_since();
    assert!(!sender.waits() && watch.busy_since() == turned);
    // It is woken all the same, and may ask again.
    append(&sender, b"a");
    assert_eq!(wakes.count(), 1);
    assert!(Pin::new(&mut body).poll_frame(context).is_ready());
    assert!(Pin::new(&mut body).poll_frame(context).is_pending());
    assert!(sender.waits());
    // Behind the beginning of the answer nothing is owed.
    assert!(sender.begin_answer() && !sender.waits());
}

#[test]
fn a_handler_that_waits_is_woken_and_one_that_is_busy_is_known() {
    let (sender, mut body) = content(&account(), None);
    let watch = body.watch().unwrap();
    let before = watch.busy_since();
    let (wakes, waker) = Wakes::new();
    let context = &mut Context::from_waker(&waker);
    assert!(Pin::new(&mut body).poll_frame(context).is_pending());
    // It waits for the client: its time has not begun.
    assert!(watch.busy_since() > before);
    append(&sender, b"a");
    assert_eq!(wakes.count(), 1);
    assert_eq!(watch.busy_since(), before);
    assert!(Pin::new(&mut body).poll_frame(context).is_ready());
    let given = watch.busy_since();
    assert!(given > before && watch.busy_since() == given);
    assert!(Pin::new(&mut body).poll_frame(context).is_pending());
    sender.finish(None);
    assert_eq!(wakes.count(), 2);
    assert!(RequestBody::from("x").watch().is_none());
}

#[test]
fn two_handlers_are_given_all_of_it() {
    for pieces in [&["abc"][..], &["a", "b", "c"]] {
        let (sender, body) = content(&account(), None);
        let second = body.for_next();
        append(&sender, pieces[0].as_bytes());
        let mut collecting = Box::pin(body.collect());
        let context = &mut Context::from_waker(Waker::noop());
        for piece in &pieces[1..] {
            assert!(collecting.as_mut().poll(context).is_pending());
            append(&sender, piece.as_bytes());
        }
        let trailers = [("x".parse().unwrap(), "1".parse().unwrap())];
        sender.finish(Some(trailers.into_iter().collect()));
        let Poll::Ready(Ok(first)) = collecting.as_mut().poll(context) else {
            panic!("it is whole");
        };
        assert_eq!(first, "abc");
        drop(collecting);
        let mut second = second;
        assert_eq!(second.size_hint().exact(), Some(3));
        assert_eq!(
            [next(&mut second), next(&mut second)],
            ["abc", "{\"x\": \"1\"}"]
        );
    }
    // What the first one leaves.
    let (sender, mut body) = content(&account(), None);
    let mut second = body.for_next();
    append(&sender, b"a");
    assert_eq!(next(&mut body), "a");
    drop(body);
    append(&sender, b"b");
    sender.finish(None);
    assert_eq!([next(&mut second), next(&mut second)], ["b", "end"]);
    let whole = RequestBody::from("abc");
    assert_eq!(next(&mut whole.for_next()), "abc");
    assert_eq!(collected(whole).unwrap().unwrap(), "abc");
}

#[test]
fn what_is_collected_may_fail() {
    let (sender, body) = content(&account(), None);
    append(&sender, b"a");
    drop(sender);
    let error = collected(body).unwrap().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionAborted);
    // No memory for all of it: the connection answers.
    let account = MemoryBudget::new(LEAST, 0).open(0, false).unwrap();
    let (sender, body) = content(&account, None);
    let mut collecting = Box::pin(body.collect());
    let context = &mut Context::from_waker(Waker::noop());
    let failed = (0..100).find_map(|_| {
        assert!(collecting.as_mut().poll(context).is_pending());
        assert!(sender.waits() && sender.room(&account, context) > 0);
        let append = |buffer: &mut BodyBuffer| buffer.content.extend_from_slice(&[b'x'; 1000]);
        let ((), _, counted) = sender.receive(1000, append);
        assert_eq!(sender.taken(context), 1000, "more may come");
        counted.err()
    });
    assert_eq!(failed, Some(MemoryExhausted));
}
