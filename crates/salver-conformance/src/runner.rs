//! Plays the table.

use std::net::SocketAddr;

use crate::check::{Circumstances, check};
use crate::client::{Connection, Http1};
use crate::exchange::{Exchange, Message, Request, get};
use crate::expect::{ConnectionRule, Expectation};
use crate::facts::Facts;
use crate::fixture::Fixture;
use crate::report::{Failure, Mode, Report};
use crate::response::Response;
use crate::scenarios;
use crate::setup::Setup;
use crate::tables::exchanges;
use crate::transport::Transport;

/// A request with more bytes than this is cut at a sample of its bytes only.
const EVERY_BYTE: usize = 700;

/// Plays every row of one setup against a server that listens at `address` and was started
/// with [`Setup::arguments`].
///
/// On the default setup each row is played in every [`Mode`]; on the others plainly, pipelined
/// and as HEAD, since how a message is read does not depend on them.
#[must_use]
pub fn run(address: SocketAddr, fixture: &Fixture, setup: Setup) -> Report {
    let mut report = Report::new(setup);
    let transport = Http1 { address };
    let facts = Facts::new(&transport);
    let neighbour = Neighbour::new(fixture, setup);
    for exchange in exchanges(fixture) {
        if !is_played(&exchange, fixture, setup, &mut report) {
            continue;
        }
        let message = match facts.resolve_message(&exchange.message) {
            Ok(message) => message,
            Err(error) => {
                let problems = vec![error];
                report
                    .failures
                    .push(failure(&exchange, &exchange.message, Mode::Plain, problems));
                continue;
            }
        };
        let mut player = Player {
            address,
            exchange: &exchange,
            message: &message,
            bytes: message.to_http1(),
            circumstances: Circumstances {
                headless: message.is_head(),
                may_leave_root: setup.may_leave_root(),
                facts: &facts,
            },
            neighbour: &neighbour,
            report: &mut report,
        };
        // What fails plainly would fail in every other way too, and hide why.
        if !player.plain() {
            continue;
        }
        player.pipelined();
        player.as_head();
        if setup == Setup::Default && !exchange.heavy {
            player.split();
            player.byte_by_byte();
        }
    }
    if setup == Setup::Default {
        scenarios::run(address, fixture, &mut report);
    }
    report
}

/// Plays the semantic rows of one setup over any transport, plainly.
#[must_use]
pub fn run_semantic(transport: &dyn Transport, fixture: &Fixture, setup: Setup) -> Report {
    let mut report = Report::new(setup);
    let facts = Facts::new(transport);
    for exchange in exchanges(fixture) {
        if !matches!(exchange.message, Message::Semantic(_))
            || !is_played(&exchange, fixture, setup, &mut report)
        {
            continue;
        }
        report.requests += 1;
        let played = facts
            .resolve_message(&exchange.message)
            .and_then(|message| {
                let Message::Semantic(request) = &message else {
                    return Ok(Vec::new());
                };
                let response = transport.exchange(request)?;
                let circumstances = Circumstances {
                    headless: message.is_head(),
                    may_leave_root: setup.may_leave_root(),
                    facts: &facts,
                };
                Ok(check(&response, &exchange.expect, &circumstances))
            });
        let problems = played.unwrap_or_else(|error| vec![error]);
        if !problems.is_empty() {
            report
                .failures
                .push(failure(&exchange, &exchange.message, Mode::Plain, problems));
        }
    }
    report
}

/// Whether a row belongs to the setup and can be played here; counts it either way.
fn is_played(exchange: &Exchange, fixture: &Fixture, setup: Setup, report: &mut Report) -> bool {
    if !exchange.setups.contains(&setup) {
        return false;
    }
    if exchange.need.is_some_and(|need| !fixture.offers(need)) {
        report.skipped.push(exchange.name.clone());
        return false;
    }
    report.exchanges += 1;
    true
}

fn failure(exchange: &Exchange, message: &Message, mode: Mode, problems: Vec<String>) -> Failure {
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
struct Neighbour {
    bytes: Vec<u8>,
    expect: Expectation,
}

impl Neighbour {
    fn new(fixture: &Fixture, setup: Setup) -> Self {
        let request = get("/ten.txt").with("X-Neighbour", format!("{setup:?}"));
        Self {
            bytes: request.to_http1(),
            expect: Expectation::whole(fixture, "ten.txt"),
        }
    }
}

/// One row on its way through the modes.
struct Player<'a> {
    address: SocketAddr,
    exchange: &'a Exchange,
    message: &'a Message,
    bytes: Vec<u8>,
    circumstances: Circumstances<'a>,
    neighbour: &'a Neighbour,
    report: &'a mut Report,
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

    fn plain(&mut self) -> bool {
        self.report.requests += 2;
        let play = || {
            let mut connection = Connection::open(self.address)?;
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

    fn pipelined(&mut self) {
        self.report.requests += 3;
        let play = || {
            let mut connection = Connection::open(self.address)?;
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

    /// Cuts the request before each of its bytes. Rows that keep the connection share one.
    fn split(&mut self) {
        let step = self.bytes.len().div_ceil(EVERY_BYTE).max(1);
        let mut shared: Option<Connection> = None;
        for at in (1..self.bytes.len()).step_by(step) {
            self.report.requests += 1;
            let kept = shared.take();
            let play = || {
                let mut connection = match kept {
                    Some(connection) => connection,
                    None => Connection::open(self.address)?,
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

    fn byte_by_byte(&mut self) {
        self.report.requests += 1;
        let play = || {
            let mut connection = Connection::open(self.address)?;
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
    fn as_head(&mut self) {
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
            let mut connection = Connection::open(self.address)?;
            connection.send(&twin.to_http1());
            // Only the head: the content may be 20 GiB.
            let (wanted, _) = connection.receive_head(false)?;
            let mut head = request.clone();
            head.method = "HEAD".to_owned();
            let mut connection = Connection::open(self.address)?;
            connection.send(&head.to_http1());
            let answer = connection.receive(true, false)?;
            connection.expect_nothing_left()?;
            let mut problems = differences(&answer, &wanted);
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
fn differences(head: &Response, get: &Response) -> Vec<String> {
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
