//! Tests of what a program is given and gives: requests before their content, content of unknown length, trailers.

use super::*;
use crate::response::render_fields;
use crate::streams::UNKNOWN_LENGTH;

/// A client of a program.
fn client() -> Client {
    let mut client = Client::new();
    client.limits.for_program = true;
    client
}

fn data(flags: u8, stream: u32, length: usize) -> Vec<u8> {
    frame(kind::DATA, flags, stream, &vec![b'x'; length])
}

fn trailers(stream: u32, lines: &[(&str, &str)]) -> Vec<u8> {
    frame(kind::HEADERS, ALL, stream, &block(lines))
}

#[test]
fn a_request_is_given_with_all_lines_before_its_content() {
    let mut client = client();
    let more = [
        ("expect", "100-continue"),
        ("cookie", "a=b"),
        ("range", "x"),
        ("cookie", "c"),
    ];
    let Client {
        connection,
        limits,
        scratch,
        out,
    } = &mut client;
    let input = post(1, &more);
    let (_, event) = connection.receive(limits, &input, SECOND, scratch, out);
    let Event::Request {
        stream: 1,
        request,
        is_whole: false,
    } = event
    else {
        panic!("{event:?}")
    };
    let expected = GET.iter().chain(&more);
    let expected = expected.map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    assert!(request.lines.iter().eq(expected));
    assert_eq!(request.fields.range.as_deref(), Some(&b"x"[..]));
    assert_eq!(connection.phase(), Phase::Answering);
    // Whoever waits is told when the content is wanted, and not once the answer has begun.
    connection.send_continue(1, out);
    connection.send_continue(3, out);
    let mut status = Vec::new();
    let mut decoder = crate::hpack::Decoder::new();
    let decoded = decoder.decode(&out[9..], &mut Vec::new(), |line| {
        status.extend_from_slice(line.value);
    });
    assert!(decoded.is_ok() && status == b"100");
    assert_eq!(client.said(), ["HEADERS 1"]);
    let end = flag::END_STREAM;
    assert_eq!(client.send(&data(0, 1, 2)), ["xx of 1"]);
    assert_eq!(client.send(&data(0, 1, 0)).len(), 0);
    assert_eq!(client.send(&data(end, 1, 1)), ["x of 1 at the end"]);
    assert_eq!(client.send(&data(end, 1, 1)), ["cancelled 1 None"]);
    assert_eq!(client.said(), ["RST_STREAM 1 5"]);
    client.send(&post(3, &[]));
    client.respond(3, 5);
    client.connection.send_continue(3, &mut client.out);
    assert_eq!(client.said(), ["HEADERS 3"]);
}

#[test]
fn content_is_counted_while_it_is_answered() {
    let check = |sent: &[Vec<u8>], events: &[&str], frames: &[&str]| {
        let mut client = client();
        assert_eq!(client.send(&sent.concat()), events);
        assert_eq!(client.said(), frames);
    };
    let end = flag::END_STREAM;
    let length = [("content-length", "5")];
    let begun = "Get / on 1, to be continued";
    check(
        &[post(1, &length), data(0, 1, 5), data(end, 1, 0)],
        &[begun, "xxxxx of 1", " of 1 at the end"],
        &[],
    );
    for (wrong, given) in [
        (data(end, 1, 4), 0),
        (data(0, 1, 6), 0),
        (trailers(1, &[("x", "y")]), 0),
    ] {
        let events = [begun, "cancelled 1 None"];
        check(
            &[post(1, &length), wrong],
            &events[given..],
            &["RST_STREAM 1 1"],
        );
    }
    check(
        &[
            post(1, &[]),
            data(0, 1, 1),
            trailers(1, &[("x", "y"), ("a", "b")]),
        ],
        &[begun, "x of 1", "trailers of 1 x: y a: b"],
        &[],
    );
    check(
        &[post(1, &[]), trailers(1, &[(":path", "/")])],
        &[begun, "cancelled 1 None"],
        &["RST_STREAM 1 1"],
    );
    let many: Vec<_> = (0..200).map(|_| ("x", "y")).collect();
    check(
        &[post(1, &[]), trailers(1, &many)],
        &[begun, "431 on 1 Some(Get)"],
        &[],
    );
}

#[test]
fn windows_are_given_back_as_content_is_done_with() {
    let mut client = client();
    client.send(&[post(1, &[]), post(3, &[])].concat());
    for _ in 0..3 {
        assert_eq!(client.send(&data(0, 1, 16_384)).len(), 1);
    }
    // The connection's at once, for there is memory, the stream's not.
    assert_eq!(client.said(), ["WINDOW_UPDATE 0 32768"]);
    client.connection.release(1, 32_767, &mut client.out);
    assert!(client.said().is_empty());
    client.connection.release(1, 1, &mut client.out);
    assert_eq!(client.said(), ["WINDOW_UPDATE 1 32768"]);
    // Padding is done with at once, and nobody is told of what no longer matters.
    let padded = [&[255][..], &[b'x'; 16_000], &[0; 255]].concat();
    client.send(&frame(
        kind::DATA,
        flag::PADDED | flag::END_STREAM,
        3,
        &padded,
    ));
    client.said();
    client.connection.release(3, 50_000, &mut client.out);
    client.connection.release(5, 50_000, &mut client.out);
    assert!(client.said().is_empty());

    // More than the windows allow.
    let mut client = self::client();
    client.send(&[post(1, &[]), post(3, &[])].concat());
    for _ in 0..3 {
        client.send(&data(0, 1, 16_384));
    }
    client.said();
    assert_eq!(client.send(&data(0, 1, 16_384)), ["cancelled 1 None"]);
    assert_eq!(client.said(), ["WINDOW_UPDATE 0 32768", "RST_STREAM 1 3"]);
    client.connection.limit_content(4096, &mut client.out);
    for _ in 0..3 {
        client.send(&data(0, 3, 16_384));
    }
    client.said();
    assert_eq!(client.send(&data(0, 3, 16_384)), ["ended"]);
    assert_eq!(client.said(), ["GOAWAY 3 3"]);
}

#[test]
fn the_window_of_the_connection_follows_the_memory_that_there_is() {
    let mut client = client();
    client.send(&post(1, &[]));
    client.connection.limit_content(20_000, &mut client.out);
    for _ in 0..3 {
        client.send(&data(0, 1, 16_384));
    }
    assert!(client.said().is_empty(), "16,383 are left of the window");
    client.send(&data(0, 1, 8192));
    assert_eq!(client.said(), ["WINDOW_UPDATE 0 11809"]);
    client.connection.limit_content(1 << 30, &mut client.out);
    assert_eq!(client.said(), ["WINDOW_UPDATE 0 45535"]);
    // However little there is, some is given.
    client.connection.limit_content(0, &mut client.out);
    assert!(client.said().is_empty());
}

#[test]
fn too_much_content_is_refused_as_long_as_it_can_be() {
    let mut client = client();
    client.limits.request.max_body = 10;
    client.send(&[post(1, &[]), post(3, &[])].concat());
    client.respond(3, 1000);
    client.said();
    assert_eq!(client.connection.method(1), Some(Method::Get));
    assert_eq!(client.send(&data(0, 1, 11)), ["413 on 1 Some(Get)"]);
    assert_eq!(client.send(&data(0, 1, 11)).len(), 0, "it is of no use");
    assert_eq!(
        client.send(&data(0, 3, 11)),
        ["cancelled 3 Some(\"content\")"]
    );
    client.respond(1, 0);
    assert_eq!(
        client.said(),
        ["RST_STREAM 3 8", "HEADERS 1 end", "RST_STREAM 1 0"]
    );
}

#[test]
fn an_answer_of_unknown_length_ends_when_it_is_said() {
    let mut client = client();
    client.send(&[get(1), get(3), post(5, &[])].concat());
    for stream in [1, 3, 5] {
        client.respond(stream, UNKNOWN_LENGTH);
    }
    client.said();
    let mut send = |length: Option<usize>, left: Option<u64>, trailers: Option<&[u8]>| {
        let turn = client.connection.next_turn().unwrap();
        let mut after = Vec::new();
        if let Some(left) = left {
            client.connection.set_left(turn, left);
        }
        let out = &mut client.out;
        let content = match length {
            Some(length) => {
                let content = client.connection.send(turn, length, out, &mut after);
                out.extend(vec![0; length]);
                content
            }
            None => client.connection.end_content(turn, trailers, out),
        };
        (content.is_some(), client.said())
    };
    let said = |frames: &[&str]| {
        frames
            .iter()
            .map(|&frame| frame.to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(send(Some(5), None, None), (false, said(&["DATA 1 5"])));
    assert_eq!(
        send(Some(5), Some(5), None),
        (true, said(&["DATA 1 5 end"]))
    );
    let lines = render_fields([("x", &b"y"[..])].into_iter());
    assert_eq!(
        send(None, None, Some(&lines)),
        (true, said(&["HEADERS 3 end"]))
    );
    // The client need not send the rest.
    let expected = said(&["DATA 5 0 end", "RST_STREAM 5 0"]);
    assert_eq!(send(None, None, None), (true, expected));
    assert_eq!(client.connection.phase(), Phase::Idle);
}

#[test]
fn who_waits_for_a_program_is_not_held_up_by_the_client() {
    let mut client = client();
    client.send(&get(1));
    client.respond(1, UNKNOWN_LENGTH);
    let turn = client.connection.next_turn().unwrap();
    client.connection.stall(turn);
    assert!(client.connection.next_turn().is_none());
    assert!(client.connection.is_sending() && !client.connection.is_held_up());
    assert_eq!(client.connection.contents().count(), 1);
    client.connection.retry();
    client.flow();
    assert!(client.connection.is_held_up(), "the window is used up");
}

#[test]
fn content_on_its_way_when_an_early_answer_ends_is_no_fault_of_the_client() {
    let mut client = client();
    client.limits.max_idle_frames = 10;
    client.send(&post(1, &[]));
    client.respond(1, 0);
    // As much as the window of the stream allows, in however many frames.
    let small = data(0, 1, 50).repeat(65_535 / 50);
    assert_eq!(client.send(&small).len(), 0);
    // That is beyond, and what is empty, leads to nothing.
    assert_eq!(client.send(&data(0, 1, 50).repeat(11)), ["ended"]);
    let mut client = self::client();
    client.limits.max_idle_frames = 10;
    client.send(&post(1, &[]));
    client.respond(1, 0);
    assert_eq!(client.send(&data(0, 1, 0).repeat(11)), ["ended"]);
}

#[test]
fn what_is_held_up_can_be_ended() {
    let mut client = client();
    client.send(&[get(1), get(3)].concat());
    client.respond(1, UNKNOWN_LENGTH);
    assert!(client.connection.held_up().is_empty());
    client.flow();
    client.respond(3, UNKNOWN_LENGTH);
    client.said();
    let turns = client.connection.held_up();
    assert_eq!(turns.len(), 2, "the window of the connection is used up");
    let lines = render_fields([("x", &b"y"[..])].into_iter());
    let ended = [None, Some(&*lines)];
    for (turn, trailers) in turns.into_iter().zip(ended) {
        assert!(client.connection.content(turn).is_some());
        let out = &mut client.out;
        assert!(client.connection.end_content(turn, trailers, out).is_some());
    }
    assert_eq!(client.said(), ["DATA 1 0 end", "HEADERS 3 end"]);
    assert_eq!(client.connection.phase(), Phase::Idle);
}
