//! Plays the table.

use crate::check::check;
use crate::client::Http1;
use crate::endpoint::{Endpoint, Protocol};
use crate::exchange::{Message, is_played};
use crate::facts::{Circumstances, Facts};
use crate::fixture::Fixture;
use crate::http2::Http2;
use crate::http3::Http3;
use crate::multiplexed;
use crate::player::{Neighbour, Player, failure};
use crate::report::{Mode, Report};
use crate::scenarios;
use crate::setup::Setup;
use crate::tables::exchanges;
use crate::transport::Transport;

/// Over TLS one row in so many is cut at every fourth byte.
const CUT: usize = 16;

/// Plays every row of one setup against a server that listens at the endpoint and was started
/// with [`Setup::arguments`].
///
/// On the default setup each row is played in every [`Mode`] that the protocol knows; on the
/// others plainly, beside neighbours and as HEAD, since how a message is read does not depend
/// on them. Over HTTP/2 and HTTP/3 the rows that are about the syntax of HTTP/1.1 are counted
/// instead, and requests are added that only these protocols can get wrong.
///
/// # Errors
/// The client cannot be set up at all; a server that does not answer is a failure in the report.
pub fn run(endpoint: &Endpoint, fixture: &Fixture, setup: Setup) -> Result<Report, String> {
    let in_every_mode = setup == Setup::Default;
    run_in(endpoint, fixture, setup, in_every_mode)
}

/// Plays the table as [`run`] does, but the rows of the default setup not in every mode either.
///
/// # Errors
/// As those of [`run`].
pub fn run_once(endpoint: &Endpoint, fixture: &Fixture, setup: Setup) -> Result<Report, String> {
    run_in(endpoint, fixture, setup, false)
}

fn run_in(
    endpoint: &Endpoint,
    fixture: &Fixture,
    setup: Setup,
    in_every_mode: bool,
) -> Result<Report, String> {
    let mut report = Report::new(endpoint.protocol, setup);
    match endpoint.protocol {
        Protocol::Http1 | Protocol::Http1Tls => {
            run_http1(endpoint, fixture, setup, in_every_mode, &mut report);
        }
        Protocol::Http2 | Protocol::Http2Cleartext => {
            multiplexed::run(
                &Http2 { endpoint },
                endpoint.protocol,
                fixture,
                setup,
                in_every_mode,
                &mut report,
            );
        }
        Protocol::Http3 => {
            let carrier = Http3::new(endpoint)?;
            multiplexed::run(
                &carrier,
                endpoint.protocol,
                fixture,
                setup,
                in_every_mode,
                &mut report,
            );
        }
    }
    Ok(report)
}

fn run_http1(
    endpoint: &Endpoint,
    fixture: &Fixture,
    setup: Setup,
    in_every_mode: bool,
    report: &mut Report,
) {
    let transport = Http1 { endpoint };
    let facts = Facts::new(&transport);
    let neighbour = Neighbour::new(fixture, setup);
    for (index, exchange) in exchanges(fixture).into_iter().enumerate() {
        if !is_played(&exchange, fixture, setup, report) {
            continue;
        }
        facts.settle(&exchange);
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
            endpoint,
            exchange: &exchange,
            message: &message,
            bytes: message.to_http1(),
            circumstances: Circumstances {
                headless: message.is_head(),
                may_leave_root: setup.may_leave_root(),
                facts: &facts,
            },
            neighbour: &neighbour,
            report,
            index,
        };
        // What fails plainly would fail in every other way too, and hide why.
        if !player.plain() {
            continue;
        }
        player.pipelined();
        player.as_head();
        // Over TLS each write is a record, and how records are cut does not depend on the row.
        let is_cut = endpoint.protocol == Protocol::Http1 || index % CUT == 0;
        if in_every_mode && !exchange.heavy && is_cut {
            player.split();
            player.byte_by_byte();
        }
    }
    if setup == Setup::Default {
        scenarios::run(endpoint, fixture, report);
    }
}

/// Plays the semantic rows of one setup over any transport, plainly.
#[must_use]
pub fn run_semantic(transport: &dyn Transport, fixture: &Fixture, setup: Setup) -> Report {
    let mut report = Report::new("another transport", setup);
    let facts = Facts::new(transport);
    for exchange in exchanges(fixture) {
        if !matches!(exchange.message, Message::Semantic(_))
            || !is_played(&exchange, fixture, setup, &mut report)
        {
            continue;
        }
        report.requests += 1;
        facts.settle(&exchange);
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
