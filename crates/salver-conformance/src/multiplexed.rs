//! Plays the table over HTTP/2 or HTTP/3, whose connections carry many requests at once.

use crate::carried::Carried;
use crate::check::check;
use crate::endpoint::Protocol;
use crate::exchange::{Exchange, Message, get, is_played};
use crate::expect::Expectation;
use crate::facts::{Circumstances, Facts};
use crate::fixture::Fixture;
use crate::player::differences;
use crate::report::{Failure, Mode, Report};
use crate::response::Response;
use crate::session::{Carrier, EachFresh, Manner, Outcome, Session};
use crate::setup::Setup;
use crate::tables::exchanges;
use crate::tables::malformed::{self, Malformed, Verdict};

/// Rows that are asked at once on one connection, each with a neighbour.
const AT_ONCE: usize = 16;
/// One row in so many is cut at every byte: how frames are read does not depend on the row.
const CUT: usize = 40;
/// Bytes of names and values beyond which a request is no mistake but an attack.
const EXCESSIVE: usize = 32 * 1024;

/// Names and values that are longer than this in all need not be read before they are refused: twice
/// that of a section that every server takes.
const UNREAD: usize = 16 * 1024;
/// A small window is this part of the content.
const WINDOWS: usize = 64;

/// One row on its way through the modes.
struct Row<'a> {
    name: &'a str,
    section: &'static str,
    request: Carried,
    verdict: Verdict,
    circumstances: Circumstances<'a>,
}

/// Plays every row of one setup that has a counterpart in this protocol, and on the default
/// setup the requests that only such protocols can get wrong.
pub(crate) fn run(
    carrier: &dyn Carrier,
    protocol: Protocol,
    fixture: &Fixture,
    setup: Setup,
    in_every_mode: bool,
    report: &mut Report,
) {
    let malformed = if setup == Setup::Default {
        malformed::rows(fixture, protocol)
    } else {
        Vec::new()
    };
    let tables = (&exchanges(fixture)[..], &malformed[..]);
    play(
        carrier,
        protocol,
        fixture,
        setup,
        in_every_mode,
        tables,
        report,
    );
}

/// Plays these rows; counts those that have no counterpart.
fn play(
    carrier: &dyn Carrier,
    protocol: Protocol,
    fixture: &Fixture,
    setup: Setup,
    in_every_mode: bool,
    (table, malformed): (&[Exchange], &[Malformed]),
    report: &mut Report,
) {
    let transport = EachFresh(carrier);
    let facts = Facts::new(&transport);
    let neighbour = Neighbour::new(carrier, fixture, &facts);
    let mut passed = Vec::new();
    for (index, exchange) in table.iter().enumerate() {
        if !exchange.setups.contains(&setup) {
            continue;
        }
        if Carried::of_message(&exchange.message, protocol).is_none() {
            report.syntax_only += 1;
            continue;
        }
        if !is_played(exchange, fixture, setup, report) {
            continue;
        }
        facts.settle(exchange);
        let Some(row) = row(exchange, protocol, setup, &facts, report) else {
            continue;
        };
        let mut player = Player {
            carrier,
            neighbour: &neighbour,
            row: &row,
            report,
        };
        // What fails plainly would fail in every other way too, and hide why.
        let Some(response) = player.plain() else {
            continue;
        };
        if in_every_mode {
            player.modes(response.as_ref(), index % CUT == 0 && !exchange.heavy);
        }
        if let Some(response) = &response {
            player.as_head(response);
        }
        if !row.is_excessive() {
            passed.push(row);
        }
    }
    for row in malformed {
        report.exchanges += 1;
        let row = Row {
            name: &row.name,
            section: row.section,
            request: row.request.clone(),
            verdict: row.verdict.clone(),
            circumstances: circumstances(&row.request, setup, &facts),
        };
        let mut player = Player {
            carrier,
            neighbour: &neighbour,
            row: &row,
            report,
        };
        if player.plain().is_some() {
            player.fragmented();
            passed.push(row);
        }
    }
    for rows in passed.chunks(AT_ONCE) {
        concurrent(carrier, &neighbour, rows, report);
    }
}

fn circumstances<'a>(request: &Carried, setup: Setup, facts: &'a Facts<'a>) -> Circumstances<'a> {
    Circumstances {
        headless: request.is_head(),
        may_leave_root: setup.may_leave_root(),
        facts,
    }
}

/// A row of the table, ready to be sent; `None` if what it needs to know cannot be learned.
fn row<'a>(
    exchange: &'a Exchange,
    protocol: Protocol,
    setup: Setup,
    facts: &'a Facts<'a>,
    report: &mut Report,
) -> Option<Row<'a>> {
    let resolved = facts.resolve_message(&exchange.message);
    let message = resolved
        .map_err(|error| {
            report.failures.push(Failure {
                name: exchange.name.clone(),
                section: exchange.section,
                mode: Mode::Plain,
                request: String::new(),
                problems: vec![error],
            });
        })
        .ok()?;
    let request = Carried::of_message(&message, protocol)?;
    // What is no request by its syntax may be malformed here: then the stream may be reset
    // instead (RFC 9113 section 8.1.1).
    let is_request = match &message {
        Message::Semantic(request) => {
            request.target.starts_with(b"/") && request.target.iter().all(u8::is_ascii_graphic)
        }
        Message::Raw(_) => false,
    };
    let refusable = !is_request && exchange.expect.statuses.contains(&400);
    Some(Row {
        name: &exchange.name,
        section: exchange.section,
        circumstances: circumstances(&request, setup, facts),
        verdict: if refusable {
            Verdict::Either(exchange.expect.clone())
        } else {
            Verdict::Answered(exchange.expect.clone())
        },
        request,
    })
}

/// A well-formed request and its answer, to stand beside a row's.
struct Neighbour<'a> {
    request: Carried,
    expect: Expectation,
    circumstances: Circumstances<'a>,
}

impl<'a> Neighbour<'a> {
    fn new(carrier: &dyn Carrier, fixture: &Fixture, facts: &'a Facts<'a>) -> Self {
        Self {
            request: carrier.carry(&get("/ten.txt").with("x-neighbour", "1")),
            expect: Expectation::whole(fixture, "ten.txt"),
            circumstances: Circumstances {
                headless: false,
                may_leave_root: false,
                facts,
            },
        }
    }

    fn judge(&self, outcome: Outcome) -> Vec<String> {
        match outcome.answer() {
            Ok(response) => check(&response, &self.expect, &self.circumstances),
            Err(error) => vec![format!("the neighbour: {error}")],
        }
    }
}

impl Row<'_> {
    /// The field section is larger than any that an honest client sends: then the whole
    /// connection may be ended (RFC 9113 section 10.5.1, RFC 9114 section 10.5.1).
    fn is_excessive(&self) -> bool {
        self.bytes() > EXCESSIVE
    }

    fn bytes(&self) -> usize {
        let lines = self.request.fields.iter();
        lines.map(|(name, value)| name.len() + value.len()).sum()
    }

    /// The answer, if there is one, and everything that is wrong with what became of the row.
    fn judge(&self, outcome: Outcome, malformed: u64) -> (Option<Response>, Vec<String>) {
        // ENHANCE_YOUR_CALM and H3_EXCESSIVE_LOAD.
        let excessive = [0xb, 0x107];
        let refusal = Expectation::status(400);
        let mut expect = match &self.verdict {
            Verdict::Answered(expect) => expect.clone(),
            Verdict::Either(expect) => expect.clone().or(400),
            Verdict::Refused => refusal,
        };
        if self.is_excessive() {
            // RFC 6585 section 5: all fields together are too large, whichever of them is.
            expect = expect.or(431);
        }
        match outcome {
            Outcome::Answer(response) => {
                let problems = check(&response, &expect, &self.circumstances);
                (Some(response), problems)
            }
            Outcome::Reset(code)
                if code == malformed && !matches!(self.verdict, Verdict::Answered(_)) =>
            {
                (None, Vec::new())
            }
            Outcome::Ended(code) | Outcome::Reset(code)
                if self.is_excessive() && excessive.contains(&code) =>
            {
                (None, Vec::new())
            }
            refused => (
                None,
                vec![format!("{refused}, instead of {:?}", expect.statuses)],
            ),
        }
    }
}

fn note(report: &mut Report, row: &Row<'_>, mode: Mode, problems: Vec<String>) -> bool {
    if problems.is_empty() {
        return true;
    }
    report.failures.push(Failure {
        name: row.name.to_owned(),
        section: row.section,
        mode,
        request: row.request.shown(),
        problems,
    });
    false
}

struct Player<'a> {
    carrier: &'a dyn Carrier,
    neighbour: &'a Neighbour<'a>,
    row: &'a Row<'a>,
    report: &'a mut Report,
}

impl Player<'_> {
    fn note(&mut self, mode: Mode, outcome: Result<Vec<String>, String>) -> bool {
        let problems = outcome.unwrap_or_else(|error| vec![error]);
        note(self.report, self.row, mode, problems)
    }

    /// The row on this connection, and what is wrong with its answer.
    fn play(&self, session: &mut dyn Session) -> Result<(Option<Response>, Vec<String>), String> {
        let outcome = session.ask_one(&self.row.request)?;
        Ok(self.row.judge(outcome, self.carrier.malformed()))
    }

    /// Plays the row and then a neighbour; its answer if it passed, which is `None` if it was
    /// rightly refused without one.
    fn plain(&mut self) -> Option<Option<Response>> {
        self.report.requests += 2;
        let play = || {
            let mut session = self.carrier.open(Manner::Plain)?;
            let (response, mut problems) = self.play(session.as_mut())?;
            if problems.is_empty() {
                if self.row.is_excessive() && response.is_none() {
                    session = self.carrier.open(Manner::Plain)?;
                }
                let outcome = session.ask_one(&self.neighbour.request)?;
                problems = self.neighbour.judge(outcome);
                session.settle()?;
            }
            Ok((response, problems))
        };
        let (response, outcome) = match play() {
            Ok((response, problems)) => (response, Ok(problems)),
            Err(error) => (None, Err(error)),
        };
        self.note(Mode::Plain, outcome).then_some(response)
    }

    /// Plays the row on a fresh connection in another manner.
    fn in_manner(&mut self, manner: Manner, mode: Mode) {
        self.report.requests += 1;
        let play = || {
            let mut session = self.carrier.open(manner)?;
            let (response, problems) = self.play(session.as_mut())?;
            let is_over = self.row.is_excessive() && response.is_none();
            if problems.is_empty() && !is_over {
                session.settle()?;
            }
            Ok(problems)
        };
        let outcome = play();
        self.note(mode, outcome);
    }

    /// Every manner that the protocol knows besides the plain one.
    fn modes(&mut self, response: Option<&Response>, cut: bool) {
        if let Some(response) = response
            && !response.content.is_empty()
        {
            let window = response.content.len().div_ceil(WINDOWS);
            let window = u32::try_from(window).unwrap_or(u32::MAX);
            self.in_manner(Manner::Window(window), Mode::SmallWindow(window));
        }
        if self.carrier.has_frames_of_its_own() {
            self.fragmented();
            if cut {
                self.in_manner(Manner::ByteByByte, Mode::ByteByByte);
                self.split();
            }
        }
    }

    fn fragmented(&mut self) {
        if self.carrier.has_frames_of_its_own() {
            self.in_manner(Manner::Fragmented, Mode::Fragmented);
        }
    }

    /// Cuts the frames of the request before each of their bytes, on one connection.
    fn split(&mut self) {
        let request = &self.row.request;
        // Nine bytes of a frame's head, and at most six of each field line's lengths.
        let lines = request.fields.iter();
        let bytes = lines.map(|(name, value)| name.len() + value.len() + 3);
        let length = 9 + bytes.sum::<usize>();
        let mut session = match self.carrier.open(Manner::Plain) {
            Ok(session) => session,
            Err(error) => {
                self.note(Mode::SplitAt(0), Err(error));
                return;
            }
        };
        for at in 1..length.min(400) {
            self.report.requests += 1;
            session.set_manner(Manner::SplitAt(at));
            let outcome = self.play(session.as_mut()).map(|(_, problems)| problems);
            // One cut shown is enough to know the row fails when cut.
            if !self.note(Mode::SplitAt(at), outcome) {
                return;
            }
        }
        let outcome = session.settle().map(|()| Vec::new());
        self.note(Mode::SplitAt(length), outcome);
    }

    /// Plays a GET as HEAD (RFC 9110 section 9.3.2).
    fn as_head(&mut self, get: &Response) {
        // A section that is too large may be refused unread, with its method.
        let is_unread = get.status == 431 && self.row.bytes() > UNREAD;
        if self.row.request.value(b":method") != Some(b"GET") || is_unread {
            return;
        }
        self.report.requests += 1;
        let play = || {
            let mut session = self.carrier.open(Manner::Plain)?;
            let request = self.row.request.clone().with_method("HEAD");
            let head = session.ask_one(&request)?.answer()?;
            let is_ranged = request.value(b"range").is_some();
            if !is_ranged && differences(&head, get).is_empty() {
                session.settle()?;
                return Ok(Vec::new());
            }
            // Range is defined for GET only (RFC 9110 section 14.2): it must change nothing. And what is known of a file
            // may be more than a moment ago, so what was asked then is asked again.
            let other = if is_ranged {
                request.without(&[b"range", b"if-range"])
            } else {
                self.row.request.clone()
            };
            let plain = session.ask_one(&other)?.answer()?;
            session.settle()?;
            Ok(differences(&head, &plain))
        };
        let outcome = play();
        self.note(Mode::AsHead, outcome);
    }
}

/// Asks for several rows and as many neighbours at once, on one connection.
fn concurrent(
    carrier: &dyn Carrier,
    neighbour: &Neighbour<'_>,
    rows: &[Row<'_>],
    report: &mut Report,
) {
    let mut requests = Vec::new();
    for row in rows {
        requests.push(row.request.clone());
        requests.push(neighbour.request.clone());
    }
    report.requests += requests.len();
    let play = || {
        let mut session = carrier.open(Manner::Plain)?;
        let outcomes = session.ask(&requests)?;
        session.settle()?;
        Ok::<_, String>(outcomes)
    };
    let outcomes = match play() {
        Ok(outcomes) => outcomes,
        Err(error) => {
            if let Some(row) = rows.first() {
                let problem = format!("{} rows from this one on at once: {error}", rows.len());
                note(report, row, Mode::Concurrent, vec![problem]);
            }
            return;
        }
    };
    let mut outcomes = outcomes.into_iter();
    for row in rows {
        let (Some(own), Some(beside)) = (outcomes.next(), outcomes.next()) else {
            note(report, row, Mode::Concurrent, vec!["no outcome".to_owned()]);
            return;
        };
        let (_, mut problems) = row.judge(own, carrier.malformed());
        problems.extend(neighbour.judge(beside));
        note(report, row, Mode::Concurrent, problems);
    }
}

#[cfg(test)]
mod tests;
