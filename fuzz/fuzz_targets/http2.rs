//! Any bytes behind the preface of HTTP/2, in any pieces: whatever they are, the connection makes
//! frames that are whole, sends no more than it may, and keeps no more than its limits allow.
#![no_main]

use libfuzzer_sys::fuzz_target;
use salver_http2::{Connection, Event, Limits, PREFACE, RenderedHead, Scratch};

const DATE: &[u8; 29] = b"Sun, 06 Nov 1994 08:49:37 GMT";

/// Length of a frame's header, and of the longest frame.
const HEADER: usize = 9;
const LONGEST: usize = 16 * 1024;

fuzz_target!(|input: (u8, Vec<u8>)| {
    let (step, input) = input;
    // Requests are given before their content, or when they are whole.
    let limits = Limits {
        for_program: step.is_multiple_of(2),
        ..Limits::default()
    };
    let (mut scratch, mut out) = (Scratch::default(), Vec::new());
    let mut connection = Connection::<u64>::new();
    let head = RenderedHead::new(200, [("x", &b"y"[..])].into_iter());
    let mut carry = PREFACE.to_vec();
    for piece in input.chunks(usize::from(step).max(1)) {
        carry.extend_from_slice(piece);
        loop {
            let (consumed, event) = connection.receive(&limits, &carry, 0, &mut scratch, &mut out);
            let stream = match event {
                Event::Request { stream, request, .. } => {
                    assert!(matches!(request.path.first(), Some(b'/' | b'*')));
                    stream
                }
                Event::Refused { stream, refusal, .. } => {
                    assert!((400..500).contains(&refusal.status));
                    stream
                }
                Event::Content { .. }
                | Event::Trailers { .. }
                | Event::Cancelled { .. }
                | Event::Again => 0,
                Event::Incomplete => {
                    carry.drain(..consumed);
                    assert!(carry.len() < HEADER + LONGEST);
                    break;
                }
                Event::Ended => {
                    assert!(connection.is_over());
                    return;
                }
            };
            carry.drain(..consumed);
            if stream > 0 {
                let length = u64::from(stream % 5) * 10_000;
                connection.respond(stream, &head, &[], DATE, (length, length), &mut out);
            }
        }
        while let Some(turn) = connection.next_turn() {
            let left = *connection.content(turn).expect("whoever's turn it is sends");
            assert!(turn.most > 0 && turn.most as u64 <= left && turn.most <= LONGEST);
            *connection.content(turn).expect("whoever's turn it is sends") -= turn.most as u64;
            let mut after = Vec::new();
            connection.send(turn, turn.most, &mut out, &mut after);
            out.extend(std::iter::repeat_n(0, turn.most));
            out.append(&mut after);
        }
        let mut rest = &out[..];
        while let [a, b, c, _, _, _, _, _, _, frame @ ..] = rest {
            let length = usize::from(*a) << 16 | usize::from(*b) << 8 | usize::from(*c);
            assert!(length <= LONGEST);
            rest = &frame[length..];
        }
        assert!(rest.is_empty(), "frames are whole");
        out.clear();
    }
});
