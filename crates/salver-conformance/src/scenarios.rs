//! Procedures of several steps, which no single exchange can say.

use crate::check::check;
use crate::client::{Connection, Http1};
use crate::endpoint::Endpoint;
use crate::exchange::{Request, get};
use crate::expect::Expectation;
use crate::facts::{Circumstances, Facts};
use crate::fixture::Fixture;
use crate::need::Need;
use crate::report::{Failure, Mode, Report};

/// What a procedure may use.
struct Stage<'a> {
    endpoint: &'a Endpoint,
    fixture: &'a Fixture,
    circumstances: Circumstances<'a>,
}

type Procedure = fn(&Stage<'_>) -> Result<(), String>;

const ALL: [(&str, &str, Option<Need>, Procedure); 9] = [
    (
        "100 comes before the body is sent",
        "RFC 9110 10.1.1",
        None,
        continues,
    ),
    (
        "no 100 for a body that is refused",
        "RFC 9110 10.1.1",
        None,
        refuses_early,
    ),
    (
        "200 pipelined requests are answered in order",
        "RFC 9112 9.3.2",
        None,
        pipeline,
    ),
    (
        "500 requests on one connection",
        "RFC 9112 9.3",
        None,
        persists,
    ),
    (
        "a client that has finished sending is still answered",
        "RFC 9112 9.6",
        None,
        half_closed,
    ),
    (
        "a request that ends too soon gets no 200",
        "RFC 9112 8",
        None,
        cut_short,
    ),
    (
        "a connection that is opened and closed harms nobody",
        "RFC 9112 9.5",
        None,
        silent,
    ),
    (
        "a download that is dropped harms nobody",
        "RFC 9112 9.5",
        None,
        dropped,
    ),
    (
        "many ask for a FIFO, others are served",
        "FIFOs",
        Some(Need::Fifo),
        fifos,
    ),
];

/// Plays every procedure; failures go to the report.
pub(crate) fn run(endpoint: &Endpoint, fixture: &Fixture, report: &mut Report) {
    let transport = Http1 { endpoint };
    let facts = Facts::new(&transport);
    let circumstances = Circumstances {
        headless: false,
        may_leave_root: false,
        facts: &facts,
    };
    let stage = Stage {
        endpoint,
        fixture,
        circumstances,
    };
    for (name, section, need, procedure) in ALL {
        if need.is_some_and(|need| !fixture.offers(need)) {
            report.skipped.push(name.to_owned());
            continue;
        }
        report.exchanges += 1;
        report.requests += 1;
        if let Err(problem) = procedure(&stage) {
            report.failures.push(Failure {
                name: name.to_owned(),
                section,
                mode: Mode::Scenario,
                request: "a procedure of several steps".to_owned(),
                problems: vec![problem],
            });
        }
    }
}

impl Stage<'_> {
    fn open(&self) -> Result<Connection, String> {
        Connection::open(self.endpoint)
    }

    /// Reads an answer and wants a whole file.
    fn wants(&self, connection: &mut Connection, file: &str) -> Result<(), String> {
        let response = connection.receive(false, false)?;
        let expect = Expectation::whole(self.fixture, file);
        let problems = check(&response, &expect, &self.circumstances);
        if problems.is_empty() {
            Ok(())
        } else {
            Err(problems.join("; "))
        }
    }

    /// A fresh connection is served.
    fn serves(&self) -> Result<(), String> {
        let mut connection = self.open()?;
        connection.send(&get("/ten.txt").to_http1());
        self.wants(&mut connection, "ten.txt")
    }
}

fn continues(stage: &Stage<'_>) -> Result<(), String> {
    let mut connection = stage.open()?;
    connection.send(
        b"GET /ten.txt HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n",
    );
    let (interim, _) = connection.receive_head(false)?;
    match interim.status {
        100 => connection.send(b"hello"),
        // RFC 9110 section 10.1.1: a final answer may come at once, and then no body is read.
        status => return Err(format!("{status} instead of 100 before the body")),
    }
    stage.wants(&mut connection, "ten.txt")?;
    connection.send(&get("/plain.txt").to_http1());
    stage.wants(&mut connection, "plain.txt")
}

fn refuses_early(stage: &Stage<'_>) -> Result<(), String> {
    let mut connection = stage.open()?;
    connection.send(
        b"POST /ten.txt HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\
          Content-Length: 99999999999\r\n\r\n",
    );
    let (response, _) = connection.receive_head(false)?;
    match response.status {
        405 | 413 | 417 => Ok(()),
        status => Err(format!("{status} for 99999999999 bytes")),
    }
}

fn pipeline(stage: &Stage<'_>) -> Result<(), String> {
    let files = ["ten.txt", "plain.txt", "one.txt", "empty.txt", "medium.bin"];
    let mut connection = stage.open()?;
    let mut all = Vec::new();
    for file in files.iter().cycle().take(200) {
        all.extend_from_slice(&get(format!("/{file}")).to_http1());
    }
    connection.send(&all);
    for (index, file) in files.iter().cycle().take(200).enumerate() {
        stage
            .wants(&mut connection, file)
            .map_err(|error| format!("answer {index}: {error}"))?;
    }
    connection.expect_nothing_left()
}

fn persists(stage: &Stage<'_>) -> Result<(), String> {
    let mut connection = stage.open()?;
    for index in 0..500 {
        let (method, file) = if index % 3 == 0 {
            ("HEAD", "ten.txt")
        } else {
            ("GET", "ten.txt")
        };
        connection.send(&Request::new(method, format!("/{file}")).to_http1());
        if method == "HEAD" {
            connection.receive(true, false)?;
        } else {
            stage.wants(&mut connection, file)?;
        }
    }
    connection.expect_nothing_left()
}

fn half_closed(stage: &Stage<'_>) -> Result<(), String> {
    let mut connection = stage.open()?;
    connection.send(&get("/plain.txt").to_http1());
    connection.send(&get("/ten.txt").to_http1());
    connection.finish();
    stage.wants(&mut connection, "plain.txt")?;
    stage.wants(&mut connection, "ten.txt")?;
    connection.expect_end()
}

fn cut_short(stage: &Stage<'_>) -> Result<(), String> {
    for bytes in [
        &b"GET /ten"[..],
        b"GET /ten.txt HTTP/1.1\r\n",
        b"GET /ten.txt HTTP/1.1\r\nHost: h\r\n",
        b"GET /ten.txt HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhel",
        b"GET /ten.txt HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    ] {
        let mut connection = stage.open()?;
        connection.send(bytes);
        connection.finish();
        // RFC 9112 section 8: an incomplete request may be answered with an error, or not.
        match connection.receive_head(false) {
            Ok((response, _)) if response.status < 400 => {
                return Err(format!("{} to {}", response.status, bytes.escape_ascii()));
            }
            Err(error) if error.contains("nothing came") => {
                return Err(format!("still open behind {}", bytes.escape_ascii()));
            }
            _ => {}
        }
    }
    Ok(())
}

fn silent(stage: &Stage<'_>) -> Result<(), String> {
    for _ in 0..100 {
        drop(stage.open()?);
    }
    let mut connection = stage.open()?;
    connection.finish();
    connection.expect_end()?;
    stage.serves()
}

fn dropped(stage: &Stage<'_>) -> Result<(), String> {
    for _ in 0..20 {
        let mut connection = stage.open()?;
        connection.send(&get("/big/three-mib.bin").to_http1());
        connection.receive_head(false)?;
    }
    stage.serves()
}

fn fifos(stage: &Stage<'_>) -> Result<(), String> {
    let mut waiting = Vec::new();
    for _ in 0..40 {
        let mut connection = stage.open()?;
        connection.send(&get("/special/fifo").to_http1());
        waiting.push(connection);
    }
    stage.serves()?;
    for mut connection in waiting {
        let response = connection.receive(false, false)?;
        if response.status != 404 {
            return Err(format!("{} for a FIFO", response.status));
        }
    }
    Ok(())
}
