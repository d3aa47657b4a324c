//! Requests: how bytes arrive does not change what they mean, and a head holds what its rules say.
#![no_main]

use libfuzzer_sys::fuzz_target;
use salver_http1::{
    BodyBuffer, BodyLength, Connection, Event, Limits, Phase, RequestTarget, parse, trailer_lines,
};

fuzz_target!(|data: &[u8]| {
    // The first two bytes say how the others are cut.
    let (cuts, input) = data.split_first_chunk::<2>().unwrap_or((&[1, 1], data));
    // What is wrong with a head may be said before it has come whole, and need not: so it comes
    // whole.
    let input = &[input, b"\r\n\r\n"].concat();
    for limits in [Limits::default(), tight()] {
        let whole = events(input, &limits, &mut |left| left);
        let mut turn = 0;
        let mut pieces = |left: usize| {
            turn = 1 - turn;
            (usize::from(cuts[turn]) + 1).min(left)
        };
        assert_eq!(events(input, &limits, &mut pieces), whole);
        assert_eq!(events(input, &limits, &mut |_| 1), whole);
        check_parse(input, &limits);
    }
});

/// Limits that short inputs reach.
fn tight() -> Limits {
    Limits {
        max_head: 200,
        max_target: 40,
        max_fields: 4,
        max_body: 20,
    }
}

/// What the bytes amount to if they come in pieces of lengths that `piece` chooses.
fn events(input: &[u8], limits: &Limits, piece: &mut dyn FnMut(usize) -> usize) -> Vec<String> {
    let mut connection = Connection::new();
    let (mut seen, mut buffer) = (Vec::new(), BodyBuffer::default());
    let (mut start, mut end) = (0, 0);
    while end < input.len() {
        end += piece(input.len() - end);
        loop {
            let (consumed, event) = connection.receive(limits, &input[start..end], Some(&mut buffer));
            assert!(consumed <= end - start);
            start += consumed;
            match event {
                Event::Incomplete => {
                    assert!(end - start < limits.max_head, "a buffer would be full");
                    break;
                }
                Event::Request(head) => {
                    assert_eq!(head.body, BodyLength::None);
                    assert!(!head.expect_continue);
                    let closed = connection.phase() == Phase::Closed;
                    assert_eq!(closed, !head.persistent);
                    seen.push(format!("request {head:?}"));
                }
                Event::Body {
                    head,
                    send_continue,
                } => {
                    assert_ne!(head.body, BodyLength::None);
                    assert_eq!(send_continue, head.expect_continue);
                    assert_eq!(connection.phase(), Phase::Body);
                    let kept = head.clone().into_owned();
                    assert_eq!(kept.borrow(), head, "keeping a head loses nothing");
                    seen.push(format!("body of {head:?}"));
                }
                Event::BodyEnd => {
                    assert!(trailer_lines(&buffer.trailers).all(|(name, _)| !name.is_empty()));
                    seen.push(format!("{:?}", std::mem::take(&mut buffer)));
                }
                Event::Refuse(refusal) => {
                    assert!((400..=599).contains(&refusal.status), "{refusal:?}");
                    assert_eq!(connection.phase(), Phase::Closed);
                    seen.push(format!("refusal {refusal:?}"));
                }
            }
        }
    }
    // At the end, too, it is in the same state: half a head, half a body, or nothing.
    seen.push(format!("{:?}", connection.phase()));
    seen
}

/// A head that is read is what its first bytes say, needs all of them, and none that follow.
fn check_parse(input: &[u8], limits: &Limits) {
    let parsed = parse(input, limits);
    let Ok(Some((head, length))) = &parsed else {
        return;
    };
    assert!(*length <= input.len() && input[..*length].ends_with(b"\n"));
    assert_eq!(parse(&input[..*length], limits), parsed);
    for end in [*length - 1, *length / 2] {
        assert!(
            matches!(parse(&input[..end], limits), Ok(None)),
            "{end} of {length}"
        );
    }
    if let RequestTarget::Path { path, query } = &head.target {
        assert!(path.starts_with(b"/"));
        let bytes = path.iter().chain(query.iter().copied().flatten());
        // Bytes beyond ASCII are let through, as browsers send them; nothing that ends a line or a
        // word is.
        assert!(
            bytes
                .clone()
                .all(|byte| !byte.is_ascii_control() && *byte != b' '),
            "{head:?}"
        );
        assert!(!path.contains(&b'?') && bytes.count() <= limits.max_target);
    }
    if let BodyLength::Sized(length) = head.body {
        assert!((1..=limits.max_body).contains(&length));
    }
}
