//! Tests of the errors that end a stream or a connection: mistakes, floods, and more than the limits allow.

use super::*;
use crate::frame::{LONGEST, MOST};

#[test]
fn what_ends_the_connection() {
    let ping = |flags, stream, length| frame(kind::PING, flags, stream, &vec![9; length]);
    let continuation = |stream| frame(kind::CONTINUATION, flag::END_HEADERS, stream, b"");
    let open = frame(kind::HEADERS, flag::END_STREAM, 1, &block(&GET));
    for (input, code) in [
        (frame(kind::DATA, 0, 0, b"x"), 1),
        (frame(kind::DATA, 0, 1, b"x"), 1),
        (frame(kind::DATA, flag::PADDED, 1, b"\x09"), 1),
        (get(2), 1),
        (get(0), 1),
        ([get(5), get(3)].concat(), 1),
        (frame(kind::HEADERS, ALL, 1, &[0x80]), 9),
        (frame(kind::HEADERS, ALL | flag::PRIORITY, 1, b"x"), 6),
        (continuation(1), 1),
        ([open.clone(), continuation(3)].concat(), 1),
        ([open.clone(), ping(0, 0, 8)].concat(), 1),
        (ping(0, 1, 8), 1),
        (ping(0, 0, 7), 6),
        (frame(kind::SETTINGS, 0, 1, b""), 1),
        (frame(kind::SETTINGS, 0, 0, b"12345"), 6),
        (frame(kind::SETTINGS, flag::ACK, 0, b"123456"), 6),
        (settings(&[(setting::ENABLE_PUSH, 2)]), 1),
        (settings(&[(setting::INITIAL_WINDOW_SIZE, 1 << 31)]), 3),
        (settings(&[(setting::MAX_FRAME_SIZE, 16_383)]), 1),
        (settings(&[(setting::MAX_FRAME_SIZE, 1 << 24)]), 1),
        (number(kind::WINDOW_UPDATE, 0, 0), 1),
        (number(kind::WINDOW_UPDATE, 0, MOST), 3),
        (number(kind::WINDOW_UPDATE, 1, 1), 1),
        (frame(kind::WINDOW_UPDATE, 0, 0, b"123"), 6),
        (number(kind::RST_STREAM, 0, 8), 1),
        (number(kind::RST_STREAM, 1, 8), 1),
        (frame(kind::PRIORITY, 0, 0, b"12345"), 1),
        (frame(kind::PRIORITY, 0, 1, b"1234"), 6),
        (frame(kind::PUSH_PROMISE, flag::END_HEADERS, 1, b"1234"), 1),
        (frame(kind::GOAWAY, 0, 1, b"12345678"), 1),
        (frame(kind::GOAWAY, 0, 0, b"1234567"), 6),
        (frame(kind::PRIORITY_UPDATE, 0, 0, b"123"), 6),
        (frame(kind::PRIORITY_UPDATE, 0, 1, b"\0\0\0\x01u=1"), 1),
        (frame(kind::PRIORITY_UPDATE, 0, 0, b"\0\0\0\x02u=1"), 1),
    ] {
        let mut client = Client::new();
        let events = client.send(&input);
        assert_eq!(events.last().unwrap(), "ended", "{input:?}");
        let said = client.said().pop().unwrap();
        assert!(
            said.ends_with(&format!(" {code}")) && said.starts_with("GOAWAY"),
            "{said} {input:?}"
        );
        assert!(client.connection.is_over());
        assert_eq!(client.send(b"more"), ["ended"]);
    }
    for input in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\rx",
    ] {
        let mut client = Client::silent();
        assert_eq!(client.send(input), ["ended"]);
        assert_eq!(client.said(), [format!("GOAWAY 0 {PROTOCOL_ERROR}")]);
    }
    let mut client = Client::silent();
    assert_eq!(client.send(&[PREFACE.to_vec(), get(1)].concat()), ["ended"]);
}

#[test]
fn what_ends_a_stream() {
    for (input, events, frames) in [
        (
            number(kind::WINDOW_UPDATE, 1, 0),
            "cancelled 1 None",
            "RST_STREAM 1 1",
        ),
        (
            number(kind::WINDOW_UPDATE, 1, MOST),
            "cancelled 1 None",
            "RST_STREAM 1 3",
        ),
        (
            frame(kind::PRIORITY, 0, 1, b"\0\0\0\x01\0"),
            "cancelled 1 None",
            "RST_STREAM 1 1",
        ),
        (
            frame(kind::PRIORITY, 0, 1, b"1234"),
            "cancelled 1 None",
            "RST_STREAM 1 6",
        ),
    ] {
        check(&[get(1), input], &["Get / on 1", events], &[frames]);
    }
    check(
        &[get(1), number(kind::RST_STREAM, 1, 8)],
        &["Get / on 1", "cancelled 1 None"],
        &[],
    );
    check(
        &[post(1, &[]), number(kind::RST_STREAM, 1, 8)],
        &["cancelled 1 None"],
        &[],
    );
    check(
        &[frame(kind::HEADERS, ALL, 1, &block(&GET[1..]))],
        &[],
        &["RST_STREAM 1 1"],
    );
    let mut client = Client::new();
    client.limits.max_streams = 1;
    assert_eq!(client.send(&[get(1), get(3)].concat()), ["Get / on 1"]);
    assert_eq!(client.said(), ["RST_STREAM 3 7"]);
}

#[test]
fn what_comes_late_is_told_from_what_is_wrong() {
    let mut client = Client::new();
    client.send(&get(5));
    client.respond(5, 0);
    client.said();
    // Both are allowed for a while after the end.
    assert_eq!(client.send(&number(kind::WINDOW_UPDATE, 5, 1)).len(), 0);
    assert_eq!(client.send(&number(kind::RST_STREAM, 5, 8)).len(), 0);
    assert_eq!(client.said().len(), 0);
    assert_eq!(client.send(&get(5)), ["ended"]);
    assert_eq!(client.said(), ["GOAWAY 5 5"]);
    // One that was reset from here may still get its trailers.
    let mut client = Client::new();
    client.send(&[post(1, &[]), number(kind::WINDOW_UPDATE, 1, 0)].concat());
    assert_eq!(client.said(), ["RST_STREAM 1 1"]);
    let trailers = frame(kind::HEADERS, ALL, 1, &block(&[("x", "y")]));
    assert_eq!(client.send(&trailers).len(), 0);
    assert_eq!(client.said().len(), 0);
}

#[test]
fn floods_end_the_connection() {
    let empty = |kind, flags, stream| frame(kind, flags, stream, b"");
    let flood = |frames: &dyn Fn(u32) -> Vec<u8>| {
        let mut client = Client::new();
        let mut ended = 0;
        for n in 0..3000u32 {
            ended = n;
            if client
                .send(&frames(n))
                .last()
                .is_some_and(|event| event == "ended")
            {
                break;
            }
        }
        let said = client.said().pop().unwrap();
        assert!(said.ends_with(" 11"), "{said}");
        assert!((400..=1001).contains(&ended), "{ended}");
        assert!(client.connection.streams.len() <= 1);
    };
    flood(&|_| frame(kind::PING, 0, 0, &[0; 8]));
    flood(&|_| settings(&[]));
    flood(&|_| empty(kind::SETTINGS, flag::ACK, 0));
    flood(&|_| number(kind::WINDOW_UPDATE, 0, 1));
    flood(&|n| frame(kind::PRIORITY, 0, 2 * n + 1, &[0; 5]));
    flood(&|n| frame(kind::PRIORITY_UPDATE, 0, 0, &(2 * n + 1).to_be_bytes()));
    flood(&|_| empty(99, 0, 0));
    flood(&|n| [get(2 * n + 1), number(kind::RST_STREAM, 2 * n + 1, 8)].concat());
    // The reset is provoked.
    flood(&|n| [get(2 * n + 1), number(kind::WINDOW_UPDATE, 2 * n + 1, 0)].concat());
    flood(&|n| match n {
        0 => post(1, &[]),
        _ => empty(kind::DATA, 0, 1),
    });
    flood(&|n| match n {
        0 => frame(kind::HEADERS, 0, 1, b""),
        _ => empty(kind::CONTINUATION, 0, 1),
    });
}

#[test]
fn field_blocks_in_parts_have_an_end() {
    let block = block(&GET);
    let mut parts = vec![frame(kind::HEADERS, flag::END_STREAM, 1, &block[..1])];
    for byte in &block[1..] {
        parts.push(frame(kind::CONTINUATION, 0, 1, &[*byte]));
    }
    parts.push(frame(kind::CONTINUATION, flag::END_HEADERS, 1, b""));
    check(&parts, &["Get / on 1"], &[]);
    let mut client = Client::new();
    client.send(&frame(kind::HEADERS, 0, 1, b""));
    assert_eq!(client.connection.phase(), Phase::Head);
    let part = frame(kind::CONTINUATION, 0, 1, &[0; LONGEST]);
    assert_eq!(client.send(&part).len() + client.send(&part).len(), 0);
    assert_eq!(client.send(&part), ["ended"]);
    assert_eq!(client.said(), ["GOAWAY 0 11"]);
}

#[test]
fn a_bomb_of_references_is_refused_and_the_next_request_is_read() {
    let mut lines = block(&GET);
    // An entry of 4,000 bytes, then a reference to it 10,000 times.
    lines.extend([0x40, 1, b'x', 0x7f]);
    // 3,900 as an integer.
    lines.extend([0xbd, 0x1d]);
    lines.extend(vec![b'y'; 3900]);
    lines.extend(vec![0xbe; 10_000]);
    check(
        &[frame(kind::HEADERS, ALL, 1, &lines), get(3)],
        &["431 on 1 Some(Get)", "Get / on 3"],
        &[],
    );
}

#[test]
fn some_requests_are_answered_by_a_status() {
    let head = |more: &[(&'static str, &'static str)]| [&GET[..], more].concat();
    let ended = |lines: &[(&str, &str)]| frame(kind::HEADERS, ALL, 1, &block(lines));
    let refused = |request, event| check(&[request, get(3)], &[event, "Get / on 3"], &[]);
    refused(ended(&head(&[("expect", "tea")])), "417 on 1 Some(Get)");
    // More than a client may send is told whether or not it sends it.
    let huge = [("content-length", "99999999999999999999")];
    refused(ended(&head(&huge)), "413 on 1 Some(Get)");
    refused(post(1, &huge), "413 on 1 Some(Get)");
    let large = "a".repeat(17 << 10);
    let trailers = frame(kind::HEADERS, ALL, 1, &block(&[("x", &large)]));
    refused([post(1, &[]), trailers].concat(), "431 on 1 Some(Get)");
    // A length that is announced and does not come.
    check(
        &[ended(&head(&[("content-length", "5")]))],
        &[],
        &["RST_STREAM 1 1"],
    );
}
