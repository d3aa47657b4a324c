//! What the server says beside its answers: the streams that go one way (RFC 9114 section 6.2).

use std::sync::Arc;

use quinn::{Connection, RecvStream};
use tokio::sync::watch;

use crate::http3::frame::{GOAWAY, SETTINGS, take, take_integer};

/// Settings of HTTP/2 that have no meaning here (RFC 9114 section 7.2.4.1).
const RESERVED: [u64; 4] = [2, 3, 4, 5];
/// Types of streams.
const CONTROL: u64 = 0;
const PUSH: u64 = 1;
const ENCODER: u64 = 2;
const DECODER: u64 = 3;

/// What is known of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// SETTINGS have come.
    pub(crate) has_settings: bool,
    /// What was wrong first.
    pub(crate) problem: Option<String>,
    /// The streams that may be there once.
    seen: Vec<u64>,
}

/// Reads them all until the connection ends.
pub(crate) async fn read_all(connection: Connection, known: Arc<watch::Sender<Known>>) {
    while let Ok(stream) = connection.accept_uni().await {
        let known = Arc::clone(&known);
        tokio::spawn(async move {
            if let Err(problem) = read(stream, &known).await {
                known.send_modify(|known| {
                    known.problem.get_or_insert(problem);
                });
            }
        });
    }
}

async fn read(mut stream: RecvStream, known: &watch::Sender<Known>) -> Result<(), String> {
    let mut received = Vec::new();
    let mut kind = None;
    loop {
        // A connection that ends takes its streams with it.
        let chunk = match stream.read_chunk(64 * 1024, true).await {
            Ok(chunk) => chunk,
            Err(quinn::ReadError::Reset(_)) => None,
            Err(_) => return Ok(()),
        };
        let Some(chunk) = chunk else {
            return match kind {
                Some(kind @ (CONTROL | ENCODER | DECODER)) => {
                    Err(format!("the stream of type {kind} was ended"))
                }
                _ => Ok(()),
            };
        };
        received.extend_from_slice(&chunk.bytes);
        let mut rest = received.as_slice();
        if kind.is_none() {
            let Some(own) = take_integer(&mut rest) else {
                continue;
            };
            kind = Some(own);
            register(own, known)?;
        }
        match kind {
            Some(CONTROL) => {
                while let Some((frame, payload)) = take(&mut rest) {
                    control(frame, payload, known)?;
                }
            }
            // We allow no table: all that may be said is that it has no bytes.
            Some(ENCODER) if rest.iter().any(|byte| *byte != 0x20) => {
                return Err(format!("insertions: {}", rest.escape_ascii()));
            }
            _ => rest = &[],
        }
        received = rest.to_vec();
    }
}

fn register(kind: u64, known: &watch::Sender<Known>) -> Result<(), String> {
    if kind == PUSH {
        return Err("a push nobody asked for".to_owned());
    }
    let twice = kind <= DECODER && known.borrow().seen.contains(&kind);
    if twice {
        return Err(format!("two streams of type {kind}"));
    }
    known.send_modify(|known| known.seen.push(kind));
    Ok(())
}

/// A frame on the control stream.
fn control(kind: u64, payload: &[u8], known: &watch::Sender<Known>) -> Result<(), String> {
    let is_first = !known.borrow().has_settings;
    match kind {
        SETTINGS if is_first => {
            let mut rest = payload;
            while !rest.is_empty() {
                let identifier = take_integer(&mut rest).ok_or("SETTINGS end too soon")?;
                take_integer(&mut rest).ok_or("SETTINGS end too soon")?;
                if RESERVED.contains(&identifier) {
                    return Err(format!("setting {identifier} of HTTP/2"));
                }
            }
            known.send_modify(|known| known.has_settings = true);
            Ok(())
        }
        _ if is_first => Err(format!("the first frame is not SETTINGS but {kind:#x}")),
        GOAWAY => Ok(()),
        0..=9 | 13 => Err(format!("a frame of type {kind:#x} on the control stream")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(frames: &[(u64, &[u8])], part: &str) {
        let known = watch::Sender::new(Known::default());
        let outcome = frames
            .iter()
            .try_for_each(|(kind, payload)| control(*kind, payload, &known));
        match outcome {
            Ok(()) => assert_eq!(part, "", "{frames:?} passed"),
            Err(error) => assert!(!part.is_empty() && error.contains(part), "{error}"),
        }
    }

    #[test]
    fn the_control_stream() {
        check(
            &[(SETTINGS, &[6, 0x40, 0x64]), (GOAWAY, &[0]), (0x21, b"")],
            "",
        );
        check(&[(GOAWAY, &[0])], "not SETTINGS");
        check(&[(SETTINGS, &[]), (SETTINGS, &[])], "type 0x4");
        check(&[(SETTINGS, &[2, 0])], "setting 2");
        check(&[(SETTINGS, &[6])], "too soon");
        check(&[(SETTINGS, &[]), (0, b"a")], "type 0x0");
    }

    #[test]
    fn streams_that_are_there_once() {
        let known = watch::Sender::new(Known::default());
        assert_eq!(register(CONTROL, &known), Ok(()));
        assert_eq!(register(ENCODER, &known), Ok(()));
        assert!(register(CONTROL, &known).is_err());
        assert!(register(PUSH, &known).is_err());
        assert_eq!(
            (register(0x21, &known), register(0x21, &known)),
            (Ok(()), Ok(()))
        );
    }
}
