//! Clients of HTTP/2 that mean harm: the server's memory stays bounded, others are served
//! meanwhile, and what leads nowhere is ended.

mod flood;

use std::time::Duration;

use flood::{Ending, MANY, ends, fields, get, most_of, open_get, resident, stream, under};
use salver_conformance::http2::{Frame, bomb, code, flag, kind, literal, setting};

#[test]
fn rapid_reset() {
    ends("HEADERS and RST_STREAM", |index| {
        vec![
            get(index, "/large.bin"),
            Frame::reset(stream(index), code::CANCEL),
        ]
    });
}

#[test]
fn resets_that_are_provoked() {
    ends("WINDOW_UPDATE of nothing", |index| {
        vec![
            get(index, "/large.bin"),
            Frame::window_update(stream(index), 0),
        ]
    });
    ends("WINDOW_UPDATE beyond all bounds", |index| {
        vec![
            get(index, "/large.bin"),
            Frame::window_update(stream(index), 0x7fff_ffff),
        ]
    });
    ends("PRIORITY of a wrong length", |index| {
        vec![
            get(index, "/large.bin"),
            Frame::new(kind::PRIORITY, 0, stream(index), [0; 4]),
        ]
    });
    ends("DATA behind the end", |index| {
        vec![
            get(index, "/large.bin"),
            Frame::new(kind::DATA, 0, stream(index), *b"late"),
        ]
    });
    ends("malformed requests", |index| {
        let mut fields = fields("/large.bin");
        fields.push((b"X-Upper".to_vec(), b"1".to_vec()));
        vec![Frame::headers(stream(index), literal(&fields), true)]
    });
}

#[test]
fn endless_sections() {
    for (name, size) in [
        ("CONTINUATIONs of 16 KiB", 16_384),
        ("CONTINUATIONs of a byte", 1),
        ("empty CONTINUATIONs", 0),
    ] {
        ends(name, |index| {
            if index == 0 {
                vec![Frame::new(
                    kind::HEADERS,
                    flag::END_STREAM,
                    1,
                    literal(&fields("/")),
                )]
            } else {
                // A field that does not end.
                vec![Frame::new(kind::CONTINUATION, 0, 1, vec![0x40; size])]
            }
        });
    }
}

#[test]
fn empty_frames() {
    let begins = |index: u32, frame: Frame| {
        if index == 0 {
            vec![open_get(0, "/small.txt")]
        } else {
            vec![frame]
        }
    };
    ends("empty DATA", |index| {
        begins(index, Frame::new(kind::DATA, 0, 1, []))
    });
    ends("padding without DATA", |index| {
        begins(index, Frame::new(kind::DATA, flag::PADDED, 1, [3, 0, 0, 0]))
    });
    ends("empty HEADERS", |index| {
        vec![Frame::headers(stream(index), Vec::new(), true)]
    });
}

#[test]
fn frames_of_the_connection() {
    ends("PING", |_| vec![Frame::new(kind::PING, 0, 0, [1; 8])]);
    ends("SETTINGS", |index| {
        vec![Frame::settings(&[(setting::INITIAL_WINDOW_SIZE, index)])]
    });
    ends("empty SETTINGS", |_| vec![Frame::settings(&[])]);
    ends("PRIORITY", |index| {
        vec![Frame::new(
            kind::PRIORITY,
            0,
            stream(index),
            [0, 0, 0, 0, 1],
        )]
    });
    ends("PRIORITY_UPDATE", |index| {
        let mut payload = stream(index).to_be_bytes().to_vec();
        payload.extend_from_slice(b"u=1, i");
        vec![Frame::new(kind::PRIORITY_UPDATE, 0, 0, payload)]
    });
    ends("WINDOW_UPDATE of the connection", |_| {
        vec![Frame::window_update(0, 1)]
    });
    ends("frames of no known type", |_| {
        vec![Frame::new(0xbb, 0, 0, [0; 100])]
    });
}

/// What the server wants to say piles up, since nobody reads it.
#[test]
fn answers_that_nobody_reads() {
    for (name, frame) in [
        ("unread PING", Frame::new(kind::PING, 0, 0, [1; 8])),
        ("unread SETTINGS", Frame::settings(&[])),
    ] {
        let ending = under(name, |target| {
            let mut flood = target.open(&[]);
            let frames = vec![frame.clone(); 1000];
            // 1000 frames of at least nine bytes each time: far beyond what sockets hold.
            for _ in 0..2000 {
                if flood.send_blindly(&frames) {
                    break;
                }
            }
            flood.ending()
        });
        println!("{name}: {ending:?}");
        assert_ne!(ending, Ending::Alive, "{name}");
    }
    let name = "unread files";
    under(name, |target| {
        let mut floods = Vec::new();
        for _ in 0..20 {
            let mut flood = target.open(&[(setting::INITIAL_WINDOW_SIZE, 0x7fff_ffff)]);
            let mut frames = vec![Frame::window_update(0, 0x7000_0000)];
            frames.extend((0..50).map(|index| get(index, "/large.bin")));
            flood.send_blindly(&frames);
            floods.push(flood);
        }
        // Another round trip on each worker: what they were going to read, they have.
        for _ in 0..50 {
            assert_eq!(target.server.get("/small.txt", "").0, 200);
        }
        most_of(name, target, resident(target.server.pid()));
    });
}

/// A hundred requests, each of which is refused for its fields; the connection goes on.
fn is_refused(name: &str, section: impl Fn() -> Vec<u8>) {
    const COUNT: u32 = 100;
    let (ending, served, refused) = under(name, |target| {
        let mut flood = target.open(&[]);
        for index in 0..COUNT {
            let section = section();
            assert!(section.len() <= 16_384);
            flood.send(&[Frame::headers(stream(index), section, true)]);
        }
        (flood.ending(), flood.served, flood.refused)
    });
    println!("{name}: {ending:?}, {served} served, {refused} refused");
    assert_eq!(
        (ending, served, refused),
        (Ending::Alive, 0, COUNT as usize),
        "{name}"
    );
}

#[test]
fn header_bombs() {
    // 16 KiB that stand for 48 MiB, on each of 100 streams.
    is_refused("a table's entry a million times", || {
        bomb(&fields("/small.txt"), 4000, 12_000)
    });
    is_refused("a value of Huffman code", || {
        let mut block = literal(&fields("/small.txt"));
        // A literal whose value is 15000 bytes of the shortest code: 24000 times "0".
        block.extend_from_slice(&[0, 1, b'a', 0xff, 0x99, 0x74]);
        block.resize(block.len() + 15_000, 0);
        block
    });
}

#[test]
fn a_table_of_four_gigabytes() {
    let name = "SETTINGS_HEADER_TABLE_SIZE of 4 GiB";
    let ending = under(name, |target| {
        let mut flood = target.open(&[(setting::HEADER_TABLE_SIZE, u32::MAX)]);
        let window = Frame::window_update(0, 0x7000_0000);
        flood.socket.send_frames(&[window]).unwrap();
        // Each redirect names another place, which a server might want to remember.
        for start in (0..5000).step_by(50) {
            let frames: Vec<_> = (start..start + 50)
                .map(|index| get(index, &format!("/sub?{index}{}", "q".repeat(2000))))
                .collect();
            flood.socket.send_frames(&frames).unwrap();
            flood.wait_for_heads(frames.len());
        }
        flood.ending()
    });
    println!("{name}: {ending:?}");
    // No request was wrong: such a client is served.
    assert_eq!(ending, Ending::Alive, "{name}");
}

#[test]
fn windows_that_stay_shut() {
    let name = "a window of nothing";
    under(name, |target| {
        let mut floods = Vec::new();
        for _ in 0..20 {
            let mut flood = target.open(&[(setting::INITIAL_WINDOW_SIZE, 0)]);
            let frames: Vec<_> = (0..50).map(|index| get(index, "/large.bin")).collect();
            flood.send(&frames);
            floods.push(flood);
        }
        // The heads have come, and the connections are alive: their content waits.
        for flood in &mut floods {
            assert_eq!(flood.ending(), Ending::Alive, "{name}");
        }
        most_of(name, target, resident(target.server.pid()));
    });
    let name = "a window of one byte";
    let ending = under(name, |target| {
        let mut flood = target.open(&[(setting::INITIAL_WINDOW_SIZE, 1)]);
        let frames: Vec<_> = (0..20).map(|index| get(index, "/large.bin")).collect();
        flood.send(&frames);
        for _ in 0..MANY / 20 {
            let updates: Vec<_> = (0..20)
                .map(|index| Frame::window_update(stream(index), 1))
                .collect();
            if flood.send(&updates) {
                break;
            }
        }
        flood.ending()
    });
    println!("{name}: {ending:?}");
    assert!(ending.is_end(), "{name}: {ending:?}");
}

#[test]
fn more_streams_than_allowed() {
    let name = "streams that stay open";
    let (ending, refused) = under(name, |target| {
        let mut flood = target.open(&[]);
        let mut refused = 0;
        let frames: Vec<_> = (0..2000)
            .map(|index| open_get(index, "/large.bin"))
            .collect();
        let sent = flood.socket.send_frames(&frames);
        let patience = Duration::from_secs(30);
        flood.socket.set_patience(patience, patience).unwrap();
        let ping = Frame::new(kind::PING, 0, 0, *b"the end?");
        let pinged = flood.socket.send_frames(&[ping]);
        let ending = loop {
            match flood.socket.read() {
                Ok(Some(frame)) if frame.kind == kind::GOAWAY => {
                    break frame.number(4).map_or(Ending::Closed, Ending::Goaway);
                }
                Ok(Some(frame)) if frame.kind == kind::RST_STREAM => refused += 1,
                Ok(Some(frame)) if frame.kind == kind::PING => break Ending::Alive,
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break Ending::Closed,
            }
        };
        println!("{name}: {sent:?} {pinged:?}");
        (ending, refused)
    });
    println!("{name}: {refused} refused, {ending:?}");
    assert!(
        ending.is_end() || refused > 1000,
        "{name}: {refused} refused, {ending:?}"
    );
}
