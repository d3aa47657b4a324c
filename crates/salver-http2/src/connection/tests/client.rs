//! A client by hand: frames as bytes to the connection, events and frames as text from it.

use super::super::*;
use crate::frame::push_header;
use crate::hpack::push_line;
use crate::response::RenderedHead;

pub(super) const SECOND: u64 = 7;

/// A client by hand.
pub(super) struct Client {
    pub(super) connection: Connection<&'static str>,
    pub(super) limits: Limits,
    pub(super) scratch: Scratch,
    pub(super) out: Vec<u8>,
}

pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    push_header(&mut out, payload.len(), kind, flags, stream);
    out.extend_from_slice(payload);
    out
}

pub(super) fn block(lines: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in lines {
        push_line(&mut out, name, value.as_bytes());
    }
    out
}

pub(super) const GET: [(&str, &str); 4] = [
    (":method", "GET"),
    (":scheme", "http"),
    (":authority", "a"),
    (":path", "/"),
];

pub(super) const ALL: u8 = flag::END_STREAM | flag::END_HEADERS;

pub(super) fn get(stream: u32) -> Vec<u8> {
    frame(kind::HEADERS, ALL, stream, &block(&GET))
}

pub(super) fn post(stream: u32, more: &[(&str, &str)]) -> Vec<u8> {
    let lines: Vec<_> = GET.iter().chain(more).copied().collect();
    frame(kind::HEADERS, flag::END_HEADERS, stream, &block(&lines))
}

pub(super) fn number(kind: u8, stream: u32, number: u32) -> Vec<u8> {
    frame(kind, 0, stream, &number.to_be_bytes())
}

pub(super) fn settings(settings: &[(u16, u32)]) -> Vec<u8> {
    let mut out = Vec::new();
    push_settings(&mut out, settings);
    out
}

impl Client {
    /// Nothing has been sent.
    pub(super) fn silent() -> Self {
        Client {
            connection: Connection::new(),
            limits: Limits::default(),
            scratch: Scratch::default(),
            out: Vec::new(),
        }
    }

    /// Preface and SETTINGS have been exchanged.
    pub(super) fn new() -> Self {
        let mut client = Client::silent();
        let events = client.send(&[PREFACE.to_vec(), settings(&[])].concat());
        assert_eq!(
            (events.as_slice(), client.said()),
            (&[][..], vec!["SETTINGS 0 ack".into()])
        );
        client
    }

    /// The events that follow.
    pub(super) fn send(&mut self, input: &[u8]) -> Vec<String> {
        let mut events = Vec::new();
        let mut rest = input;
        loop {
            let (consumed, event) = self.connection.receive(
                &self.limits,
                rest,
                SECOND,
                &mut self.scratch,
                &mut self.out,
            );
            rest = &rest[consumed..];
            events.push(match event {
                Event::Incomplete => break,
                Event::Ended => {
                    events.push("ended".to_owned());
                    break;
                }
                Event::Again => continue,
                Event::Cancelled { stream, content } => format!("cancelled {stream} {content:?}"),
                Event::Content {
                    stream,
                    content,
                    ends,
                } => {
                    let end = if ends { " at the end" } else { "" };
                    format!("{} of {stream}{end}", content.escape_ascii())
                }
                Event::Trailers { stream, lines } => {
                    let lines = lines.iter().map(|(name, value)| {
                        format!(" {}: {}", name.escape_ascii(), value.escape_ascii())
                    });
                    format!("trailers of {stream}{}", lines.collect::<String>())
                }
                Event::Request {
                    stream,
                    request,
                    is_whole,
                } => {
                    let path = String::from_utf8_lossy(&request.path).into_owned();
                    let more = if is_whole { "" } else { ", to be continued" };
                    format!("{:?} {path} on {stream}{more}", request.method)
                }
                Event::Refused {
                    stream,
                    method,
                    refusal,
                } => format!("{} on {stream} {method:?}", refusal.status),
            });
        }
        events
    }

    /// The frames that were sent since the last time.
    pub(super) fn said(&mut self) -> Vec<String> {
        let out = std::mem::take(&mut self.out);
        let mut frames = Vec::new();
        let mut rest = &out[..];
        while !rest.is_empty() {
            let (length, frame) = Frame::read(rest).unwrap().expect("whole frames");
            let end = if frame.has(flag::END_STREAM) {
                " end"
            } else {
                ""
            };
            let ack = if frame.has(flag::ACK) { " ack" } else { "" };
            let code = |at: usize| {
                let bytes = frame.payload[at..at + 4].try_into().unwrap();
                u32::from_be_bytes(bytes)
            };
            frames.push(match frame.kind {
                kind::DATA => format!("DATA {} {}{end}", frame.stream, frame.payload.len()),
                kind::HEADERS => format!("HEADERS {}{end}", frame.stream),
                kind::CONTINUATION => format!("CONTINUATION {}", frame.stream),
                kind::RST_STREAM => format!("RST_STREAM {} {}", frame.stream, code(0)),
                kind::SETTINGS => format!("SETTINGS {}{ack}", frame.stream),
                kind::PING => format!("PING{ack} {:?}", frame.payload[0]),
                kind::GOAWAY => format!("GOAWAY {} {}", code(0), code(4)),
                kind::WINDOW_UPDATE => format!("WINDOW_UPDATE {} {}", frame.stream, code(0)),
                other => format!("frame of type {other}"),
            });
            rest = &rest[length..];
        }
        frames
    }

    pub(super) fn respond(&mut self, stream: u32, length: u64) -> Option<&'static str> {
        let head = RenderedHead::new(200, [].into_iter());
        let date = b"Sun, 06 Nov 1994 08:49:37 GMT";
        let content = ("content", length);
        self.connection
            .respond(stream, &head, &[], date, content, &mut self.out)
    }

    /// Sends what may be sent; how many frames.
    pub(super) fn flow(&mut self) -> usize {
        let mut count = 0;
        while let Some(turn) = self.connection.next_turn() {
            assert_eq!(self.connection.content(turn), Some(&mut "content"));
            let mut after = Vec::new();
            self.connection
                .send(turn, turn.most, &mut self.out, &mut after);
            self.out.extend(vec![0; turn.most]);
            self.out.append(&mut after);
            count += 1;
        }
        count
    }
}

/// The events and frames that follow `input` on a fresh connection.
#[track_caller]
pub(super) fn check(input: &[Vec<u8>], events: &[&str], frames: &[&str]) {
    let mut client = Client::new();
    assert_eq!(client.send(&input.concat()), events);
    assert_eq!(client.said(), frames);
}
