//! Any bytes on a request stream and on a control stream of HTTP/3, in any pieces: they are read to the
//! same end however they are cut, and what is read of them fits the limits.
#![no_main]

use libfuzzer_sys::fuzz_target;
use salver_http3::{Control, Event, Limits, RequestStream, Scratch};

/// What came of the bytes: heads, and why it ended.
fn read(input: &[u8], step: usize) -> (Vec<Vec<u8>>, bool) {
    let limits = Limits::default();
    let (mut stream, mut scratch) = (RequestStream::default(), Scratch::default());
    scratch.section.keep_lines(true);
    let mut heads = Vec::new();
    for mut piece in input.chunks(step) {
        loop {
            match stream.receive(&limits, &mut piece, &mut scratch, None) {
                Ok(Event::Incomplete) => break,
                Ok(Event::Head) => {
                    let head = scratch.section.request();
                    if let Ok(head) = &head {
                        let size = |(name, value): (&[u8], &[u8])| name.len() + value.len() + 32;
                        assert!(head.lines.iter().map(size).sum::<usize>() <= limits.max_head);
                    }
                    heads.push(format!("{head:?}").into_bytes());
                }
                Ok(Event::Trailers) => {
                    assert!(scratch.section.lines().iter().all(|(name, _)| !name.starts_with(b":")));
                }
                Err(_) => return (heads, false),
            }
        }
        assert!(piece.is_empty(), "all of it is used up");
    }
    (heads, stream.end().is_ok())
}

fuzz_target!(|input: (u8, Vec<u8>)| {
    let (step, input) = input;
    let pieces = read(&input, usize::from(step).max(1));
    assert_eq!(pieces, read(&input, usize::MAX), "however it is cut");
    let mut control = Control::default();
    for piece in input.chunks(usize::from(step).max(1)) {
        let mut rest = piece;
        while let Ok(Some(_)) = control.receive(&mut rest) {}
        if !rest.is_empty() {
            break;
        }
    }
});
