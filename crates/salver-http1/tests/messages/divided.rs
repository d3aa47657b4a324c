//! The events don't depend on how the bytes are divided into reads, nor on what follows them.

use crate::accepted::ACCEPTED;
use crate::driver::events;
use crate::refused::{CHUNKED_HEAD, REFUSED, REFUSED_BODIES};
use proptest::prelude::*;
use salver_http1::{Limits, parse};

/// Checks one connection's bytes in every division into two, in some into three, and byte by byte.
fn check(input: &[u8], expected: &[String]) {
    let limits = Limits::default();
    for at in 0..=input.len() {
        let (left, right) = input.split_at(at);
        let actual = events(&limits, &[left, right]);
        assert_eq!(actual, expected, "{} divided at {at}", input.escape_ascii());
    }
    for step in [1, 2, 3, 5, 16] {
        let pieces: Vec<&[u8]> = input.chunks(step).collect();
        let actual = events(&limits, &pieces);
        assert_eq!(
            actual,
            expected,
            "{} in pieces of {step}",
            input.escape_ascii()
        );
    }
}

fn owned(events: &[&str]) -> Vec<String> {
    events.iter().map(|&event| event.to_owned()).collect()
}

#[test]
fn at_every_byte() {
    for (input, expected) in ACCEPTED {
        check(input, &owned(expected));
    }
    for (input, status) in REFUSED {
        check(input, &[status.to_string()]);
    }
    for (body, status) in REFUSED_BODIES {
        let input = [CHUNKED_HEAD, body].concat();
        check(&input, &["Post / chunked".into(), status.to_string()]);
    }
}

#[test]
fn pipelined_with_every_neighbour() {
    let refused = REFUSED
        .iter()
        .map(|&(input, status)| (input, vec![status.to_string()]));
    let accepted = ACCEPTED
        .iter()
        .map(|&(input, expected)| (input, owned(expected)));
    let all: Vec<_> = accepted.chain(refused).collect();
    for (first, first_events) in &all {
        for (second, second_events) in &all {
            let input = [*first, second].concat();
            let mut expected = first_events.clone();
            // Behind a request that ends the connection nothing is read.
            if !ends(first_events) {
                expected.extend_from_slice(second_events);
            }
            let actual = events(&Limits::default(), &[&input]);
            assert_eq!(actual, expected, "{}", input.escape_ascii());
        }
    }
}

fn ends(events: &[String]) -> bool {
    let is_status = |event: &String| event.bytes().all(|byte| byte.is_ascii_digit());
    events
        .iter()
        .any(|event| event.contains("close") || is_status(event))
}

#[test]
fn pipelined_and_divided() {
    let mut input = Vec::new();
    let mut expected = Vec::new();
    for (request, request_events) in ACCEPTED {
        let request_events = owned(request_events);
        if !ends(&request_events) {
            input.extend_from_slice(request);
            expected.extend(request_events);
        }
    }
    assert!(expected.len() > 30);
    for step in 1..200 {
        let pieces: Vec<&[u8]> = input.chunks(step).collect();
        assert_eq!(
            events(&Limits::default(), &pieces),
            expected,
            "in pieces of {step}"
        );
    }
}

/// Bytes that are often nearly a request.
fn nearly_requests() -> impl Strategy<Value = Vec<u8>> {
    const PARTS: &[&[u8]] = &[
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n",
        b"POST /x HTTP/1.1\r\n",
        b"GET",
        b"OPTIONS",
        b" ",
        b"/",
        b"*",
        b"?",
        b"#",
        b"http://a",
        b"HTTP/1.1",
        b"HTTP/1.0",
        b"HTTP/2.0",
        b"\r\n",
        b"\r\n",
        b"\r\n",
        b"\r",
        b"\n",
        b"\r\n\r\n",
        b"Host: a\r\n",
        b"Host: b c\r\n",
        b"Content-Length: 3\r\n",
        b"Content-Length: 99999999\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n",
        b"Connection: close\r\n",
        b"Expect: 100-continue\r\n",
        b"Expect: x\r\n",
        b"Range: bytes=0-\r\n",
        b"X: y\r\n",
        b"X : y\r\n",
        b"0\r\n\r\n",
        b"3;a=\"b\"\r\nxyz\r\n",
        b"5\r\nhello\r\n",
        b"ff\r\n",
        b"\0",
        b"\xff",
        b"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    ];
    let part = prop_oneof![
        9 => proptest::sample::select(PARTS).prop_map(<[u8]>::to_vec),
        1 => proptest::collection::vec(any::<u8>(), 1..4),
    ];
    proptest::collection::vec(part, 0..16).prop_map(|parts| parts.concat())
}

const LIMITS: Limits = Limits {
    max_head: 160,
    max_target: 40,
    max_fields: 5,
    max_body: 64,
};

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: 2000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_bytes_in_any_pieces(
        mut input in nearly_requests(),
        sizes in proptest::collection::vec(1usize..40, 1..20),
    ) {
        // Whatever head has begun, this ends it: then all of it has been judged either way.
        input.extend_from_slice(b"\r\n\r\n");
        let whole = events(&LIMITS, &[&input]);
        let mut rest = input.as_slice();
        let mut pieces = Vec::new();
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, tail) = rest.split_at(rest.len().min(*size));
            pieces.push(piece);
            rest = tail;
        }
        prop_assert_eq!(events(&LIMITS, &pieces), whole.clone());
        let bytes: Vec<&[u8]> = input.chunks(1).collect();
        prop_assert_eq!(events(&LIMITS, &bytes), whole);
    }

    #[test]
    fn what_is_said_about_a_prefix_stays(input in nearly_requests()) {
        let whole = parse(&input, &LIMITS);
        for end in 0..input.len() {
            let part = parse(&input[..end], &LIMITS);
            prop_assert!(part == Ok(None) || part == whole, "at {}: {:?} {:?}", end, part, whole);
        }
    }
}
