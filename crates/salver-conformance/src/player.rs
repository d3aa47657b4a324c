//! Plays one row in each of its modes over HTTP/1.1.

use crate::check::check;
use crate::client::Connection;
use crate::endpoint::Endpoint;
use crate::exchange::{Exchange, Message, Request, get};
use crate::expect::{ConnectionRule, Expectation};
use crate::facts::Circumstances;
use crate::fixture::Fixture;
use crate::report::{Failure, Mode, Report};
use crate::response::Response;
use crate::setup::Setup;

/// A request is cut before one of so many of its bytes.
const CUT_EACH: usize = 4;

/// A longer request is cut at fewer of its bytes, so that there are no more cuts than these.
const MOST_CUTS: usize = 175;

/// One entry of the report.
pub(crate) fn failure(
    exchange: &Exchange,
    message: &Message,
    mode: Mode,
    problems: Vec<String>,
) -> Failure {
    let bytes = message.to_http1();
    let shown = bytes.get(..400).unwrap_or(&bytes);
    Failure {
        name: exchange.name.clone(),
        section: exchange.section,
        mode,
        request: shown.escape_ascii().to_string(),
        problems,
    }
}

/// A well-formed request and its answer, to stand before and behind a row's.
pub(crate) struct Neighbour {
    bytes: Vec<u8>,
    expect: Expectation,
}

impl Neighbour {
    /// The neighbour of a setup's rows.
    pub(crate) fn new(fixture: &Fixture, setup: Setup) -> Self {
        let request = get("/ten.txt").with("X-Neighbour", format!("{setup:?}"));
        Self {
            bytes: request.to_http1(),
            expect: Expectation::whole(fixture, "ten.txt"),
        }
    }
}

/// One row on its way through the modes.
pub(crate) struct Player<'a> {
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) exchange: &'a Exchange,
    pub(crate) message: &'a Message,
    pub(crate) bytes: Vec<u8>,
    pub(crate) circumstances: Circumstances<'a>,
    pub(crate) neighbour: &'a Neighbour,
    pub(crate) report: &'a mut Report,
    /// The number of the row.
    pub(crate) index: usize,
}

impl Player<'_> {
    fn note(&mut self, mode: Mode, outcome: Result<Vec<String>, String>) -> bool {
        let problems = outcome.unwrap_or_else(|error| vec![error]);
        if problems.is_empty() {
            return true;
        }
        self.report
            .failures
            .push(failure(self.exchange, self.message, mode, problems));
        false
    }

    /// Reads the row's answer and judges it.
    fn answer(&self, connection: &mut Connection) -> Result<(Response, Vec<String>), String> {
        let interim = self.message.expects_continue();
        let response = connection.receive(self.circumstances.headless, interim)?;
        let mut problems = check(&response, &self.exchange.expect, &self.circumstances);
        problems.extend(self.says_close(&response));
        Ok((response, problems))
    }

    /// Whether the answer's Connection field is what the row wants.
    fn says_close(&self, response: &Response) -> Option<String> {
        let says = response.lists("connection", "close");
        // RFC 9112 section 9.6: to HTTP/1.0, closing needs no word.
        let silent = self
            .bytes
            .windows(10)
            .any(|window| window == b"HTTP/1.0\r\n");
        match self.exchange.expect.connection {
            ConnectionRule::Kept if says => Some(format!("says close: {response}")),
            ConnectionRule::Closed if !says && !silent => {
                Some(format!("closes without saying so: {response}"))
            }
            _ => None,
        }
    }

    fn closes(&self, response: &Response) -> bool {
        match self.exchange.expect.connection {
            ConnectionRule::Kept => false,
            ConnectionRule::Closed => true,
            ConnectionRule::AsSaid => response.lists("connection", "close"),
        }
    }

    /// Judges what becomes of the connection: its end, or an answer to the neighbour.
    fn aftermath(
        &self,
        connection: &mut Connection,
        response: &Response,
    ) -> Result<Vec<String>, String> {
        if self.closes(response) {
            connection.expect_end().map(|()| Vec::new())
        } else {
            let answer = connection
                .receive(false, false)
                .map_err(|error| format!("the request behind it: {error}"))?;
            let circumstances = Circumstances {
                headless: false,
                ..self.circumstances
            };
            let problems = check(&answer, &self.neighbour.expect, &circumstances);
            connection.expect_nothing_left()?;
            Ok(problems)
        }
    }

    /// Plays the row by itself; whether it passed.
    pub(crate) fn plain(&mut self) -> bool {
        self.report.requests += 2;
        let play = || {
            let mut connection = Connection::open(self.endpoint)?;
            connection.send(&self.bytes);
            let (response, mut problems) = self.answer(&mut connection)?;
            if !problems.is_empty() {
                return Ok(problems);
            }
            if !self.closes(&response) {
                connection.expect_nothing_left()?;
                connection.send(&self.neighbour.bytes);
            }
            problems.extend(self.aftermath(&mut connection, &response)?);
            Ok(problems)
        };
        let outcome = play();
        self.note(Mode::Plain, outcome)
    }

    /// Plays the row between two neighbours.
    pub(crate) fn pipelined(&mut self) {
        self.report.requests += 3;
        let play = || {
            let mut connection = Connection::open(self.endpoint)?;
            let mut all = self.neighbour.bytes.clone();
            all.extend_from_slice(&self.bytes);
            all.extend_from_slice(&self.neighbour.bytes);
            connection.send(&all);
            let before = connection
                .receive(false, false)
                .map_err(|error| format!("the request before it: {error}"))?;
            let circumstances = Circumstances {
                headless: false,
                ..self.circumstances
            };
            let mut problems = check(&before, &self.neighbour.expect, &circumstances);
            let (response, own) = self.answer(&mut connection)?;
            problems.extend(own);
            if !problems.is_empty() {
                return Ok(problems);
            }
            problems.extend(self.aftermath(&mut connection, &response)?);
            Ok(problems)
        };
        let outcome = play();
        self.note(Mode::Pipelined, outcome);
    }

    /// Cuts the request before every fourth of its bytes, the next row's one byte further. Rows that keep the
    /// connection share one.
    pub(crate) fn split(&mut self) {
        let step = self.bytes.len().div_ceil(MOST_CUTS).max(CUT_EACH);
        let mut shared: Option<Connection> = None;
        for at in (1 + self.index % CUT_EACH..self.bytes.len()).step_by(step) {
            self.report.requests += 1;
            let kept = shared.take();
            let play = || {
                let mut connection = match kept {
                    Some(connection) => connection,
                    None => Connection::open(self.endpoint)?,
                };
                connection.send(self.bytes.get(..at).unwrap_or_default());
                connection.send(self.bytes.get(at..).unwrap_or_default());
                let (response, problems) = self.answer(&mut connection)?;
                if !problems.is_empty() {
                    return Ok((problems, None));
                }
                if self.closes(&response) {
                    connection.expect_end()?;
                    return Ok((problems, None));
                }
                connection.expect_nothing_left()?;
                Ok((problems, Some(connection)))
            };
            let outcome = play();
            let outcome = outcome.map(|(problems, connection)| {
                shared = connection;
                problems
            });
            // One cut shown is enough to know the row fails when cut.
            if !self.note(Mode::SplitAt(at), outcome) {
                return;
            }
        }
    }

    /// Plays the row a byte per write.
    pub(crate) fn byte_by_byte(&mut self) {
        self.report.requests += 1;
        let play = || {
            let mut connection = Connection::open(self.endpoint)?;
            for byte in &self.bytes {
                connection.send(std::slice::from_ref(byte));
            }
            let (response, mut problems) = self.answer(&mut connection)?;
            if !problems.is_empty() {
                return Ok(problems);
            }
            if !self.closes(&response) {
                connection.send(&self.neighbour.bytes);
            }
            problems.extend(self.aftermath(&mut connection, &response)?);
            Ok(problems)
        };
        let outcome = play();
        self.note(Mode::ByteByByte, outcome);
    }

    /// HEAD is GET without the content (RFC 9110 section 9.3.2), and knows no Range, which is
    /// defined for GET only (section 14.2), so the twin is the GET without it.
    pub(crate) fn as_head(&mut self) {
        let Message::Semantic(request) = self.message else {
            return;
        };
        if request.method != "GET" {
            return;
        }
        self.report.requests += 2;
        let play = |request: &Request| {
            let mut twin = request.clone();
            twin.fields.retain(|(name, _)| {
                !name.eq_ignore_ascii_case("range") && !name.eq_ignore_ascii_case("if-range")
            });
            let mut connection = Connection::open(self.endpoint)?;
            connection.send(&twin.to_http1());
            // Only the head: the content may be 20 GiB.
            let (wanted, _) = connection.receive_head(false)?;
            let mut head = request.clone();
            head.method = "HEAD".to_owned();
            let mut connection = Connection::open(self.endpoint)?;
            connection.send(&head.to_http1());
            let answer = connection.receive(true, false)?;
            connection.expect_nothing_left()?;
            let mut problems = differences(&answer, &wanted);
            if self.closes(&answer) {
                return Ok(problems);
            }
            connection.send(&self.neighbour.bytes);
            let neighbour = connection
                .receive(false, false)
                .map_err(|error| format!("the request behind HEAD: {error}"))?;
            let circumstances = Circumstances {
                headless: false,
                ..self.circumstances
            };
            problems.extend(check(&neighbour, &self.neighbour.expect, &circumstances));
            Ok(problems)
        };
        let outcome = play(request);
        self.note(Mode::AsHead, outcome);
    }
}

/// Where the answer to HEAD differs from that to GET.
pub(crate) fn differences(head: &Response, get: &Response) -> Vec<String> {
    // Their clocks may differ by the second in which they were sent, and so may the
    // modification time of a file from the future.
    let date = get.field("date").map(<[u8]>::to_vec);
    let comparable = |response: &Response| {
        let own = response.field("date").map(<[u8]>::to_vec);
        let mut fields = response.fields.clone();
        fields.retain(|(name, value)| {
            name != "date"
                && !(name == "last-modified"
                    && (Some(value) == own.as_ref() || Some(value) == date.as_ref()))
        });
        // That of a file too long to be hashed becomes strong when the file has rested for long enough.
        for (_, value) in fields.iter_mut().filter(|(name, _)| name == "etag") {
            if let Some(opaque) = value.strip_prefix(b"W/") {
                *value = opaque.to_vec();
            }
        }
        fields.sort();
        fields
    };
    let mut problems = Vec::new();
    if head.status != get.status {
        problems.push(format!("HEAD gives {}, GET {}", head.status, get.status));
    } else if comparable(head) != comparable(get) {
        problems.push(format!("HEAD gives {head}"));
        problems.push(format!("GET gives {get}"));
    }
    problems
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::time::{SystemTime, UNIX_EPOCH};

    use super::*;
    use crate::client::Http1;
    use crate::date;
    use crate::endpoint::Protocol;
    use crate::facts::Facts;

    /// The mistake that the server of a test makes.
    #[derive(Clone, Copy, PartialEq)]
    enum Mistake {
        None,
        /// What came with the first request is thrown away.
        ForgetsPipelined,
        /// HEAD gets content.
        HeadWithContent,
        /// A byte too many.
        OneMore,
        /// The connection is closed without a word.
        Closes,
        /// Another content.
        OtherContent,
    }

    fn answer(head: &[u8], mistake: Mistake) -> Vec<u8> {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs();
        let date = date::format(i64::try_from(now).unwrap());
        let mut out = format!(
            "HTTP/1.1 200 OK\r\nDate: {date}\r\nContent-Length: 10\r\nAccept-Ranges: bytes\r\n\
             Content-Type: text/plain\r\nCache-Control: no-cache\r\nETag: \"x\"\r\n\
             Last-Modified: Mon, 06 May 2024 07:08:09 GMT\r\n\r\n"
        )
        .into_bytes();
        if !head.starts_with(b"HEAD") || mistake == Mistake::HeadWithContent {
            let other = mistake == Mistake::OtherContent;
            out.extend_from_slice(if other { b"9876543210" } else { b"0123456789" });
        }
        if mistake == Mistake::OneMore {
            out.push(b'!');
        }
        out
    }

    fn serve(mut stream: TcpStream, mistake: Mistake) {
        let mut received = Vec::new();
        let mut chunk = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut chunk) {
            received.extend_from_slice(&chunk[..count]);
            while let Some(at) = received.windows(4).position(|four| four == b"\r\n\r\n") {
                let rest = received.split_off(at + 4);
                let head = std::mem::replace(&mut received, rest);
                // A client that has seen enough may be gone.
                let _ = stream.write_all(&answer(&head, mistake));
                if mistake == Mistake::Closes {
                    return;
                }
                if mistake == Mistake::ForgetsPipelined {
                    received.clear();
                }
            }
        }
    }

    /// The modes in which a row fails against a server with a mistake.
    fn check_modes(mistake: Mistake, expected: &[&str]) {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("site")).unwrap();
        let fixture = Fixture::build(directory.path()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || serve(stream, mistake));
            }
        });
        let endpoint = &Endpoint::bare(address, Protocol::Http1).unwrap();
        let transport = Http1 { endpoint };
        let facts = Facts::new(&transport);
        let whole = Expectation::whole(&fixture, "ten.txt");
        let exchange = Exchange::semantic("a test", "a row", get("/ten.txt"), whole);
        let mut report = Report::new(Protocol::Http1, Setup::Default);
        let mut player = Player {
            endpoint,
            exchange: &exchange,
            message: &exchange.message,
            bytes: exchange.message.to_http1(),
            circumstances: Circumstances {
                headless: false,
                may_leave_root: false,
                facts: &facts,
            },
            neighbour: &Neighbour::new(&fixture, Setup::Default),
            report: &mut report,
            index: 0,
        };
        player.plain();
        player.pipelined();
        player.as_head();
        player.split();
        player.byte_by_byte();
        let modes: Vec<_> = report
            .failures
            .iter()
            .map(|failure| match failure.mode {
                Mode::SplitAt(_) => "split".to_owned(),
                mode => mode.to_string(),
            })
            .collect();
        assert_eq!(modes, expected, "{report}");
    }

    #[test]
    fn a_right_server_passes() {
        check_modes(Mistake::None, &[]);
    }

    #[test]
    fn mistakes_are_found_in_their_mode() {
        check_modes(Mistake::ForgetsPipelined, &["pipelined"]);
        check_modes(Mistake::HeadWithContent, &["as HEAD"]);
        let all = ["plain", "pipelined", "as HEAD", "split", "byte by byte"];
        check_modes(Mistake::OtherContent, &all);
        check_modes(Mistake::OneMore, &all);
    }

    #[test]
    fn a_close_without_a_word_is_found() {
        check_modes(
            Mistake::Closes,
            &["plain", "pipelined", "as HEAD", "split", "byte by byte"],
        );
    }
}
