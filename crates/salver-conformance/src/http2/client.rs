//! One HTTP/2 connection to the server under test, and the judge of all that comes over it.

use std::collections::BTreeMap;

use loona_hpack::Decoder;

use crate::answer::Answer;
use crate::carried::Carried;
use crate::endpoint::Endpoint;
use crate::exchange::Request;
use crate::http2::flow::Window;
use crate::http2::frame::{Frame, code, flag, kind, setting};
use crate::http2::rules::{check_frame, content, read_settings};
use crate::http2::send::{data, headers, opening, trailers};
use crate::http2::socket::FrameSocket;
use crate::http2::stream::Stream;
use crate::session::{Carrier, Manner, Outcome, Session};

/// What the payload of our PING begins with.
const PING: [u8; 8] = *b"settled?";

/// A connection on which nothing wrong has come so far.
pub(crate) struct Connection {
    socket: FrameSocket,
    manner: Manner,
    decoder: Decoder<'static>,
    /// We have forbidden the server's table, and it has not said yet that it obeys.
    awaits_table_update: bool,
    streams: BTreeMap<u32, Stream>,
    next_stream: u32,
    /// What the server may send on the connection.
    receive: Window,
    /// What it has sent since we have made it larger.
    taken: u32,
    /// What we may send on the connection.
    send: Window,
    /// What we may send on a new stream.
    send_initially: u32,
    /// A field section that is not complete: its stream, whether it ends it, its bytes.
    section: Option<(u32, bool, Vec<u8>)>,
    has_settings: bool,
    is_acknowledged: bool,
    is_pinged: bool,
    /// The code of a GOAWAY.
    goaway: Option<u32>,
    is_over: bool,
}

impl Connection {
    /// Connects and says what we want; does not wait for anything.
    pub(crate) fn open(endpoint: &Endpoint, manner: Manner) -> Result<Self, String> {
        let (bytes, window) = opening(manner);
        let mut decoder = Decoder::new();
        decoder.set_max_allowed_table_size(4096);
        let mut this = Self {
            socket: FrameSocket::open(endpoint)?,
            manner,
            decoder,
            awaits_table_update: manner == Manner::Fragmented,
            streams: BTreeMap::new(),
            next_stream: 1,
            receive: Window::new(window),
            taken: 0,
            send: Window::new(Window::DEFAULT),
            send_initially: Window::DEFAULT,
            section: None,
            has_settings: false,
            is_acknowledged: false,
            is_pinged: false,
            goaway: None,
            is_over: false,
        };
        this.put(&bytes);
        Ok(this)
    }

    /// Sends bytes in our manner. A server may end the connection before it has read all: what
    /// counts is what it says.
    fn put(&mut self, bytes: &[u8]) {
        let _ = match self.manner {
            Manner::SplitAt(at) => {
                let (front, back) = bytes.split_at_checked(at).unwrap_or((bytes, &[]));
                self.socket
                    .send(front)
                    .and_then(|()| self.socket.send(back))
            }
            Manner::ByteByByte => bytes
                .iter()
                .try_for_each(|byte| self.socket.send(std::slice::from_ref(byte))),
            _ => self.socket.send(bytes),
        };
    }

    /// Sends small frames of the connection, which no manner concerns.
    fn put_frame(&mut self, frame: &Frame) {
        let _ = self.socket.send(&frame.to_bytes());
    }

    /// Bytes of content that the server may send on a new stream.
    fn stream_window(&self) -> u32 {
        match self.manner {
            Manner::Window(bytes) => bytes,
            _ => Window::DEFAULT,
        }
    }

    /// Sends what the windows let through; `out` goes before it.
    fn put_content(&mut self, mut out: Vec<u8>) -> Result<(), String> {
        for (id, stream) in &mut self.streams {
            while !stream.finished && !stream.answer.is_done() {
                let open = stream.send.open().min(self.send.open());
                let ends = stream.trailers.is_none();
                let (frame, cost) = data(self.manner, *id, &stream.unsent, ends, open);
                let Some(frame) = frame else { break };
                stream.send.take(frame.payload.len())?;
                self.send.take(frame.payload.len())?;
                stream.unsent.drain(..cost);
                out.extend_from_slice(&frame.to_bytes());
                if stream.unsent.is_empty() {
                    stream.finished = true;
                    if let Some(trailers) = stream.trailers.take() {
                        out.extend_from_slice(&trailers.to_bytes());
                    }
                }
            }
        }
        if !out.is_empty() {
            self.put(&out);
        }
        Ok(())
    }

    /// Reads one frame and does what it asks for; `false` at the end of the connection.
    fn step(&mut self) -> Result<bool, String> {
        let frame = match self.socket.read() {
            Ok(Some(frame)) => frame,
            Ok(None) => return Ok(false),
            // What we sent behind a GOAWAY may have met a closed socket.
            Err(error) if error.contains("reset") && self.goaway.is_some() => return Ok(false),
            Err(error) => return Err(error),
        };
        check_frame(&frame)?;
        // RFC 9113 section 3.4
        let acknowledges = frame.has(flag::ACK);
        if !self.has_settings && (frame.kind != kind::SETTINGS || acknowledges) {
            return Err(format!("the first frame is not SETTINGS: {frame:?}"));
        }
        if let Some((stream, ..)) = self.section
            && (frame.kind != kind::CONTINUATION || frame.stream != stream)
        {
            return Err(format!("within a field section: {frame:?}"));
        }
        match frame.kind {
            kind::SETTINGS if acknowledges => {
                if self.is_acknowledged {
                    return Err("our SETTINGS are acknowledged twice".to_owned());
                }
                self.is_acknowledged = true;
            }
            kind::SETTINGS => self.take_settings(&frame)?,
            kind::PING if acknowledges => {
                if !self.is_pinged || frame.payload != PING {
                    return Err(format!("an answer to no PING: {frame:?}"));
                }
                self.is_pinged = false;
            }
            kind::PING => self.put_frame(&Frame::new(kind::PING, flag::ACK, 0, frame.payload)),
            kind::GOAWAY => self.goaway = frame.number(4),
            kind::WINDOW_UPDATE => {
                let increment = frame.number(0).unwrap_or_default();
                if frame.stream == 0 {
                    self.send.give(increment)?;
                } else {
                    self.stream(frame.stream)?.send.give(increment)?;
                }
                self.put_content(Vec::new())?;
            }
            kind::RST_STREAM => {
                let code = frame.number(0).unwrap_or_default();
                let stream = self.stream(frame.stream)?;
                stream
                    .answer
                    .take_reset(code.into(), code == code::NO_ERROR)?;
            }
            kind::DATA => self.take_data(&frame)?,
            kind::HEADERS => {
                let block = content(&frame)?.to_vec();
                let ends = frame.has(flag::END_STREAM);
                self.section = Some((frame.stream, ends, block));
                self.take_section(&frame)?;
            }
            kind::CONTINUATION => {
                let Some((_, _, block)) = &mut self.section else {
                    return Err("CONTINUATION behind nothing".to_owned());
                };
                block.extend_from_slice(&frame.payload);
                self.take_section(&frame)?;
            }
            _ => {}
        }
        Ok(true)
    }

    fn stream(&mut self, id: u32) -> Result<&mut Stream, String> {
        self.streams
            .get_mut(&id)
            .ok_or_else(|| format!("a frame on stream {id}, which nobody has opened"))
    }

    fn take_settings(&mut self, frame: &Frame) -> Result<(), String> {
        self.has_settings = true;
        for (identifier, value) in read_settings(frame)? {
            if identifier == setting::INITIAL_WINDOW_SIZE {
                let difference = i64::from(value) - i64::from(self.send_initially);
                self.send_initially = value;
                for stream in self.streams.values_mut() {
                    stream.send.shift(difference)?;
                }
            }
        }
        self.put_frame(&Frame::new(kind::SETTINGS, flag::ACK, 0, []));
        self.put_content(Vec::new())
    }

    /// The field section, if this frame has completed it.
    fn take_section(&mut self, frame: &Frame) -> Result<(), String> {
        if !frame.has(flag::END_HEADERS) {
            return Ok(());
        }
        let Some((id, ends, block)) = self.section.take() else {
            return Ok(());
        };
        if self.awaits_table_update {
            // RFC 7541 section 4.2: the new size stands at the beginning of the next section.
            if block.first() != Some(&0x20) {
                return Err(format!(
                    "a table of 0 bytes is allowed, and no update says so: {}",
                    block.escape_ascii()
                ));
            }
            self.awaits_table_update = false;
            self.decoder.set_max_table_size(0);
            self.decoder.set_max_allowed_table_size(0);
        }
        let lines = self
            .decoder
            .decode(&block)
            .map_err(|error| format!("HPACK: {error:?}: {}", block.escape_ascii()))?;
        let stream = self.stream(id)?;
        let outcome = stream.answer.take_section(&lines);
        outcome
            .and_then(|()| {
                if ends {
                    stream.answer.take_end()
                } else {
                    Ok(())
                }
            })
            .map_err(|error| format!("stream {id}: {error}"))
    }

    fn take_data(&mut self, frame: &Frame) -> Result<(), String> {
        let ends = frame.has(flag::END_STREAM);
        // RFC 9113 section 6.9.1: padding counts.
        let cost = frame.payload.len();
        self.receive
            .take(cost)
            .map_err(|error| format!("the connection: {error}"))?;
        let cost = u32::try_from(cost).unwrap_or(u32::MAX);
        self.taken += cost;
        let data = content(frame)?;
        let stream = self.stream(frame.stream)?;
        if data.is_empty() && !ends {
            return Err("an empty DATA frame that ends nothing".to_owned());
        }
        stream
            .receive
            .take(frame.payload.len())
            .and_then(|()| stream.answer.take_content(data))
            .and_then(|()| {
                if ends {
                    stream.answer.take_end()
                } else {
                    Ok(())
                }
            })
            .map_err(|error| format!("stream {}: {error}", frame.stream))?;
        let mut updates = Vec::new();
        if cost > 0 && !ends {
            stream.receive.give(cost)?;
            updates = Frame::window_update(frame.stream, cost).to_bytes();
        }
        // With small windows we let the server use up that of the connection too.
        let waits = matches!(self.manner, Manner::Window(_)) && self.receive.open() > 0;
        if self.taken > 0 && !waits {
            self.receive.give(self.taken)?;
            updates.extend_from_slice(&Frame::window_update(0, self.taken).to_bytes());
            self.taken = 0;
        }
        let _ = self.socket.send(&updates);
        Ok(())
    }
}

/// HTTP/2, with or without TLS.
pub(crate) struct Http2<'a> {
    /// Where the server listens.
    pub(crate) endpoint: &'a Endpoint,
}

impl Carrier for Http2<'_> {
    fn open(&self, manner: Manner) -> Result<Box<dyn Session + '_>, String> {
        Ok(Box::new(Connection::open(self.endpoint, manner)?))
    }

    fn has_frames_of_its_own(&self) -> bool {
        true
    }

    fn malformed(&self) -> u64 {
        code::PROTOCOL_ERROR.into()
    }

    fn carry(&self, request: &Request) -> Carried {
        Carried::of_request(request, self.endpoint.protocol)
    }
}

impl Session for Connection {
    fn ask(&mut self, requests: &[Carried]) -> Result<Vec<Outcome>, String> {
        let mut out = Vec::new();
        let first = self.next_stream;
        for request in requests {
            let id = self.next_stream;
            self.next_stream += 2;
            let stream = Stream {
                answer: Answer::to(request),
                receive: Window::new(self.stream_window()),
                send: Window::new(self.send_initially),
                unsent: request.content.clone(),
                trailers: trailers(id, request),
                finished: request.content.is_empty(),
            };
            self.streams.insert(id, stream);
            out.extend_from_slice(&headers(self.manner, id, request));
        }
        self.put_content(out)?;
        while self.streams.values().any(|stream| !stream.answer.is_done()) {
            if !self.step()? {
                self.is_over = true;
                break;
            }
        }
        let ended = match self.goaway {
            None if self.is_over => return Err("the connection ended without GOAWAY".to_owned()),
            code => code.unwrap_or(code::NO_ERROR),
        };
        let mut outcomes = Vec::new();
        for (id, stream) in self.streams.range_mut(first..) {
            if stream.answer.is_done() && !stream.finished {
                // We have the answer and send no more (RFC 9113 section 8.1).
                stream.finished = true;
                let _ = self
                    .socket
                    .send(&Frame::reset(*id, code::CANCEL).to_bytes());
            }
            outcomes.push(stream.answer.outcome(ended.into()));
        }
        Ok(outcomes)
    }

    fn set_manner(&mut self, manner: Manner) {
        self.manner = manner;
    }

    fn settle(&mut self) -> Result<(), String> {
        self.is_pinged = true;
        self.put_frame(&Frame::new(kind::PING, 0, 0, PING));
        while self.is_pinged {
            if !self.step()? {
                let code = self.goaway.unwrap_or_default();
                return Err(format!("the connection was ended with code {code:#x}"));
            }
        }
        // RFC 9113 section 6.5.3: SETTINGS are acknowledged at once.
        if !self.is_acknowledged {
            return Err("PING is answered before SETTINGS are".to_owned());
        }
        match self.goaway {
            None => Ok(()),
            Some(code) => Err(format!("GOAWAY with code {code:#x}")),
        }
    }
}
