//! Frames against the connection, as text: what is sent to it, what it says and what it sends.

mod bounds;
mod client;
mod program;
mod refusals;

use client::*;
use proptest::prelude::*;

use super::*;
use crate::frame::HEADER;
use crate::response::RenderedHead;

const PROTOCOL_ERROR: u32 = 1;

#[test]
fn a_request_in_pieces_of_any_length() {
    let input = [PREFACE.to_vec(), settings(&[]), get(1), get(3)].concat();
    for step in 1..input.len() {
        let mut client = Client::silent();
        let mut events = Vec::new();
        let mut carry = Vec::new();
        for piece in input.chunks(step) {
            carry.extend_from_slice(piece);
            let mut at = 0;
            loop {
                let Client {
                    connection,
                    limits,
                    scratch,
                    out,
                } = &mut client;
                let (consumed, event) =
                    connection.receive(limits, &carry[at..], SECOND, scratch, out);
                at += consumed;
                match event {
                    Event::Incomplete => break,
                    Event::Request { stream, .. } => events.push(stream),
                    Event::Again => {}
                    other => panic!("{other:?}"),
                }
            }
            carry.drain(..at);
        }
        assert_eq!((events, carry.len()), (vec![1, 3], 0), "step {step}");
    }
}

#[test]
fn an_answer_with_content_and_one_without() {
    let mut client = Client::new();
    assert_eq!(
        client.send(&[get(1), get(3)].concat()),
        ["Get / on 1", "Get / on 3"]
    );
    assert_eq!(client.connection.phase(), Phase::Answering);
    assert_eq!(client.respond(1, 20_000), None);
    assert_eq!(client.respond(3, 0), Some("content"));
    assert_eq!(
        client.respond(5, 1),
        Some("content"),
        "there is no such stream"
    );
    assert_eq!(client.flow(), 2);
    assert_eq!(
        client.said(),
        [
            "HEADERS 1",
            "HEADERS 3 end",
            "DATA 1 16384",
            "DATA 1 3616 end"
        ]
    );
    assert_eq!(client.connection.phase(), Phase::Idle);
    assert!(!client.connection.is_sending());
}

#[test]
fn content_waits_for_both_windows() {
    let mut client = Client::new();
    client.send(
        &[
            settings(&[(setting::INITIAL_WINDOW_SIZE, 10)]),
            get(1),
            get(3),
        ]
        .concat(),
    );
    client.respond(1, 100_000);
    client.respond(3, 5);
    client.flow();
    assert_eq!(
        client.said()[1..],
        ["HEADERS 1", "HEADERS 3", "DATA 1 10", "DATA 3 5 end"]
    );
    client.send(&number(kind::WINDOW_UPDATE, 1, 7));
    client.flow();
    assert_eq!(client.said(), ["DATA 1 7"]);
    client.send(&settings(&[(setting::INITIAL_WINDOW_SIZE, 5)]));
    client.send(&number(kind::WINDOW_UPDATE, 1, 5));
    assert_eq!(
        (client.flow(), client.said().len()),
        (0, 1),
        "the window is 0 now"
    );
    client.send(&settings(&[(setting::INITIAL_WINDOW_SIZE, 1 << 30)]));
    client.flow();
    // 65,535 of the connection, without 22.
    let sent = [
        "SETTINGS 0 ack",
        "DATA 1 16384",
        "DATA 1 16384",
        "DATA 1 16384",
        "DATA 1 16361",
    ];
    assert_eq!(client.said(), sent);
    client.send(&number(kind::WINDOW_UPDATE, 0, 1 << 20));
    client.flow();
    assert_eq!(client.said().last().unwrap(), "DATA 1 1702 end");
}

#[test]
fn content_of_requests_is_counted() {
    let data = |flags, stream, length| frame(kind::DATA, flags, stream, &vec![b'x'; length]);
    let end = flag::END_STREAM;
    check(
        &[post(1, &[]), data(0, 1, 5), data(end, 1, 0)],
        &["Get / on 1"],
        &["WINDOW_UPDATE 1 5"],
    );
    check(
        &[post(1, &[("content-length", "5")]), data(end, 1, 5)],
        &["Get / on 1"],
        &[],
    );
    check(
        &[post(1, &[("content-length", "5")]), data(end, 1, 4)],
        &["cancelled 1 None"],
        &["RST_STREAM 1 1"],
    );
    check(
        &[post(1, &[("content-length", "5")]), data(0, 1, 6)],
        &["cancelled 1 None"],
        &["RST_STREAM 1 1"],
    );
    check(
        &[frame(
            kind::HEADERS,
            ALL,
            1,
            &block(&[&GET[..], &[("content-length", "1")]].concat()),
        )],
        &[],
        &["RST_STREAM 1 1"],
    );
    // Trailers.
    let trailers = |flags, lines: &[(&str, &str)]| frame(kind::HEADERS, flags, 1, &block(lines));
    check(
        &[post(1, &[]), trailers(ALL, &[("x", "y")])],
        &["Get / on 1"],
        &[],
    );
    check(
        &[post(1, &[]), trailers(flag::END_HEADERS, &[("x", "y")])],
        &["cancelled 1 None"],
        &["RST_STREAM 1 1"],
    );
    check(
        &[post(1, &[]), trailers(ALL, &[(":path", "/")])],
        &["cancelled 1 None"],
        &["RST_STREAM 1 1"],
    );
    check(
        &[post(1, &[("content-length", "1")]), trailers(ALL, &[])],
        &["cancelled 1 None"],
        &["RST_STREAM 1 1"],
    );
    // What is behind the end.
    check(
        &[get(1), data(0, 1, 1)],
        &["Get / on 1", "cancelled 1 None"],
        &["RST_STREAM 1 5"],
    );
    // Too much: announced, and not.
    check(
        &[post(1, &[("content-length", "1048577")])],
        &["413 on 1 Some(Get)"],
        &[],
    );
    let mut client = Client::new();
    client.send(&post(1, &[]));
    for _ in 0..64 {
        assert_eq!(client.send(&data(0, 1, 16_384)).len(), 0);
    }
    assert_eq!(client.send(&data(0, 1, 16_384)), ["413 on 1 Some(Get)"]);
    client.said();
    client.respond(1, 0);
    assert_eq!(client.said(), ["HEADERS 1 end", "RST_STREAM 1 0"]);
    // What was on its way is ignored, and gives the connection its window back.
    assert_eq!(
        client
            .send(&[data(0, 1, 16_384), data(0, 1, 16_384)].concat())
            .len(),
        0
    );
    assert_eq!(client.said(), ["WINDOW_UPDATE 0 32768"]);
}

#[test]
fn who_expects_to_be_told_is_answered_at_once() {
    check(
        &[post(1, &[("expect", "100-continue")])],
        &["Get / on 1, to be continued"],
        &[],
    );
}

#[test]
fn going_away() {
    let mut client = Client::new();
    client.send(&get(1));
    client.connection.go_away(&mut client.out);
    client.connection.go_away(&mut client.out);
    assert_eq!(client.said(), ["GOAWAY 1 0"]);
    assert!(!client.connection.is_over());
    assert_eq!(client.send(&get(3)).len(), 0, "the client has been told");
    client.respond(1, 3);
    client.flow();
    assert_eq!(client.said(), ["HEADERS 1", "DATA 1 3 end"]);
    assert!(client.connection.is_over());
    // The client does.
    let mut client = Client::new();
    client.send(&[get(1), frame(kind::GOAWAY, 0, 0, &[0; 8])].concat());
    assert!(!client.connection.is_over());
    client.respond(1, 0);
    assert!(client.connection.is_over());
}

#[test]
fn priorities_by_field_and_by_frame() {
    let urgent = [&GET[..], &[("priority", "u=0")]].concat();
    let update = |stream: u32, value: &str| {
        let payload = [&stream.to_be_bytes()[..], value.as_bytes()].concat();
        frame(kind::PRIORITY_UPDATE, 0, 0, &payload)
    };
    let mut client = Client::new();
    client.send(&update(7, "u=1"));
    client.send(&[get(1), get(3)].concat());
    client.send(&frame(kind::HEADERS, ALL, 5, &block(&urgent)));
    client.send(&[get(7), update(1, "u=6")].concat());
    for stream in [1, 3, 5, 7] {
        client.respond(stream, 1);
    }
    client.flow();
    let said = client.said();
    assert_eq!(
        said[4..],
        [
            "DATA 5 1 end",
            "DATA 7 1 end",
            "DATA 3 1 end",
            "DATA 1 1 end"
        ]
    );
    for stream in 0..100 {
        client.send(&update(1001 + 2 * stream, "u=1"));
    }
    assert!(client.connection.priorities.len() <= 16);
}

#[test]
fn a_changed_table_is_answered_and_long_heads_are_divided() {
    let mut client = Client::new();
    client.send(&[settings(&[(setting::HEADER_TABLE_SIZE, 0)]), get(1), get(3)].concat());
    client.said();
    client.respond(1, 0);
    assert_eq!(client.out[HEADER], 0x20);
    client.out.clear();
    let long = "x".repeat(40_000);
    let head = RenderedHead::new(200, [("location", long.as_bytes())].into_iter());
    let date = b"Sun, 06 Nov 1994 08:49:37 GMT";
    client
        .connection
        .respond(3, &head, &[], date, ("content", 0), &mut client.out);
    let said = client.said();
    assert_eq!(said[0], "HEADERS 3 end");
    assert!(
        said.len() > 2 && said[1..].iter().all(|frame| frame == "CONTINUATION 3"),
        "{said:?}"
    );
}

proptest! {
    #[test]
    fn any_frames_in_any_pieces(
        frames in proptest::collection::vec(
            (0u8..12, any::<u8>(), 0u32..8, proptest::collection::vec(any::<u8>(), 0..20)),
            0..40,
        ),
        step in 1usize..50,
        for_program in any::<bool>(),
    ) {
        let mut client = Client::new();
        client.limits.for_program = for_program;
        let mut input = Vec::new();
        for (kind, flags, stream, payload) in frames {
            input.extend(frame(kind, flags, stream, &payload));
        }
        let mut carry = Vec::new();
        for piece in input.chunks(step) {
            carry.extend_from_slice(piece);
            loop {
                let Client { connection, limits, scratch, out } = &mut client;
                let (consumed, event) = connection.receive(limits, &carry, SECOND, scratch, out);
                let stream = match event {
                    Event::Incomplete | Event::Ended => {
                        carry.drain(..consumed);
                        break;
                    }
                    Event::Request { stream, .. } | Event::Refused { stream, .. } => Some(stream),
                    Event::Content { .. }
                    | Event::Trailers { .. }
                    | Event::Cancelled { .. }
                    | Event::Again => None,
                };
                carry.drain(..consumed);
                if let Some(stream) = stream {
                    client.respond(stream, 100);
                }
            }
            client.flow();
            client.said();
        }
    }
}
