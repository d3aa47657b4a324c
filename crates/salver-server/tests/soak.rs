//! Files change in all ways that there are while clients of HTTP/1.1, 2 and 3 ask for them: no answer is of two
//! versions, and no strong entity tag is of two contents.
//!
//! The short form runs with all tests; `make soak` gives `SALVER_SOAK_ANSWERS` answers, by default 1,000,000.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    missing_docs
)]

#[path = "soak/case.rs"]
mod case;
mod common;
mod quic;

use std::collections::VecDeque;
use std::io::Read;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use case::{Case, HASHED, KNOWN, LENGTHS, LINES, Seen, WAYS, Way};
use common::client::Client;
use common::{Running, Site, settings};
use quic::Served;
use salver_assets::Config;
use salver_test::allocations::{Counting, held_bytes};
use salver_test::status_kib;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Which file is next, and whether a part of it: some of all in turn.
fn next(cases: &[Arc<Case>], round: u64) -> (&Arc<Case>, Option<std::ops::Range<usize>>) {
    // Small files far more often than long ones, as people ask.
    let number = match round % 8 {
        7 => round / 8,
        _ => (round % 8 + round / 8 * 7) % 5 * 4,
    };
    let case = &cases[usize::try_from(number).unwrap() % cases.len()];
    let count = u64::try_from(cases.len()).unwrap();
    let is_part = match round % 8 {
        7 => round / 8 / count % 4 == 3,
        _ => round % 16 == 3,
    };
    (case, is_part.then_some(1_000..2_000))
}

/// Until when all run.
struct Until {
    answers: AtomicU64,
    most: u64,
    end: Instant,
    stop: AtomicBool,
}

impl Until {
    fn goes_on(&self) -> bool {
        let goes_on = self.answers.fetch_add(1, Ordering::Relaxed) < self.most
            && Instant::now() < self.end
            && !self.stop.load(Ordering::Relaxed);
        if !goes_on {
            self.stop.store(true, Ordering::Relaxed);
        }
        goes_on
    }
}

fn http1(server: &Running, cases: &[Arc<Case>], until: &Until, mut round: u64) {
    let mut client = Client::new(server.address);
    while until.goes_on() {
        round += 1;
        let (case, range) = next(cases, round);
        let more = range.clone().map_or(String::new(), |range| {
            format!("Range: bytes={}-{}\r\n", range.start, range.end - 1)
        });
        let asked = Instant::now();
        client.send(common::client::request(
            "GET",
            &format!("/{}", case.name),
            &more,
        ));
        let Ok(Some(head)) = client.try_head() else {
            // Cut before its head was read.
            case.cut.fetch_add(1, Ordering::Relaxed);
            client = Client::new(server.address);
            continue;
        };
        let mut body = vec![0; head.length()];
        let whole = client.0.read_exact(&mut body).is_ok();
        let seen = Seen {
            status: head.status,
            tag: head.field("etag").unwrap_or_default().to_owned(),
            range: range.unwrap_or_default(),
            body: whole.then_some(body),
        };
        case.judge(asked, seen);
        if !whole || head.field("connection") == Some("close") {
            client = Client::new(server.address);
        }
    }
}

fn tag_of(fields: &http::HeaderMap) -> String {
    let tag = fields.get("etag").and_then(|tag| tag.to_str().ok());
    tag.unwrap_or_default().to_owned()
}

fn request(uri: String, range: Option<&std::ops::Range<usize>>) -> http::Request<()> {
    let mut request = http::Request::get(uri);
    if let Some(range) = range {
        request = request.header("range", format!("bytes={}-{}", range.start, range.end - 1));
    }
    request.body(()).unwrap()
}

async fn http2(server: &Running, cases: &[Arc<Case>], until: &Until, mut round: u64) {
    let stream = tokio::net::TcpStream::connect(server.address)
        .await
        .unwrap();
    let (mut requests, connection) = h2::client::handshake(stream).await.unwrap();
    let connection = tokio::spawn(connection);
    while until.goes_on() {
        round += 1;
        let (case, range) = next(cases, round);
        let asked = Instant::now();
        let request = request(format!("http://a/{}", case.name), range.as_ref());
        requests = requests.ready().await.unwrap();
        let (answer, _) = requests.send_request(request, true).unwrap();
        let Ok(answer) = answer.await else {
            case.cut.fetch_add(1, Ordering::Relaxed);
            continue;
        };
        let (head, mut stream) = answer.into_parts();
        let mut body = Vec::new();
        let mut whole = true;
        while let Some(piece) = stream.data().await {
            match piece {
                Ok(piece) => {
                    stream.flow_control().release_capacity(piece.len()).unwrap();
                    body.extend_from_slice(&piece);
                }
                Err(_) => {
                    whole = false;
                    break;
                }
            }
        }
        let seen = Seen {
            status: head.status.as_u16(),
            tag: tag_of(&head.headers),
            range: range.unwrap_or_default(),
            body: whole.then_some(body),
        };
        case.judge(asked, seen);
    }
    connection.abort();
}

async fn http3(served: &Served, cases: &[Arc<Case>], until: &Until, mut round: u64) {
    let mut session = served.connect().await;
    while until.goes_on() {
        round += 1;
        let (case, range) = next(cases, round);
        let asked = Instant::now();
        let request = request(
            format!("https://{}/{}", quic::HOST, case.name),
            range.as_ref(),
        );
        let mut stream = session.requests.send_request(request).await.unwrap();
        stream.finish().await.unwrap();
        let Ok(head) = quic::within(stream.recv_response()).await else {
            case.cut.fetch_add(1, Ordering::Relaxed);
            continue;
        };
        let body = quic::content(&mut stream).await.ok();
        let seen = Seen {
            status: head.status().as_u16(),
            tag: tag_of(head.headers()),
            range: range.unwrap_or_default(),
            body,
        };
        case.judge(asked, seen);
    }
}

/// A line about memory of which these are the KiB at these times: how much there is at the end, and the slope over the
/// second half, with its standard error.
fn memory(what: &str, samples: &[(f64, f64)]) -> Option<String> {
    let last = samples.get(samples.len() / 2..)?;
    let end = last.last().filter(|_| last.len() > 10)?.1;
    let (slope, error) = slope(last);
    Some(format!(
        "{what}: {end:.0} KiB at the end; over the second half {slope:+.0} KiB a minute, +/- {error:.0}"
    ))
}

/// The slope of samples over time, a minute, and its standard error.
fn slope(samples: &[(f64, f64)]) -> (f64, f64) {
    let count = samples.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| samples.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|s| s.0), mean(|s| s.1));
    let square: f64 = samples.iter().map(|s| (s.0 - x).powi(2)).sum();
    let both: f64 = samples.iter().map(|s| (s.0 - x) * (s.1 - y)).sum();
    let slope = both / square;
    let rest: f64 = samples
        .iter()
        .map(|s| (s.1 - y - slope * (s.0 - x)).powi(2))
        .sum();
    (
        slope * 60.0,
        (rest / (count - 2.0).max(1.0) / square).sqrt() * 60.0,
    )
}

/// So many answers, or for so long, to so many clients of each protocol.
fn run(answers: u64, time: Duration, clients: u64) {
    let site = Site::new();
    let cases: Vec<Arc<Case>> = WAYS
        .iter()
        .flat_map(|&way| LENGTHS.iter().map(move |&length| (way, length)))
        .map(|(way, length)| {
            Arc::new(Case {
                name: format!("{way:?}-{length}"),
                way,
                length,
                // As long as they will be: what is known grows for a long time, and counts as memory.
                complete: Mutex::new(VecDeque::with_capacity(KNOWN)),
                tags: Mutex::default(),
                whole: AtomicU64::new(0),
                parts: AtomicU64::new(0),
                cut: AtomicU64::new(0),
                unavailable: AtomicU64::new(0),
                torn: AtomicU64::new(0),
                pauses: Mutex::default(),
                slow: AtomicU64::new(0),
                stale: AtomicU64::new(0),
            })
        })
        .collect();
    let path = |case: &Case| -> PathBuf { site.path(&case.name) };
    // A log begins at a line of its own, so that its lengths are about those of the others.
    let first = |case: &Case| if case.way == Way::Grown { LINES } else { 1 };
    cases
        .iter()
        .for_each(|case| case.write(&path(case), first(case)));
    let config = Config {
        hash_up_to: HASHED,
        ..Config::default()
    };
    let revalidate = config.revalidate;
    let served = Served::with(&site, settings(), config);
    let until = Until {
        answers: AtomicU64::new(0),
        most: answers,
        end: Instant::now() + time,
        stop: AtomicBool::new(false),
    };
    let (mut resident, mut held) = (Vec::new(), Vec::new());
    std::thread::scope(|scope| {
        for (number, case) in cases.iter().enumerate() {
            let (until, path) = (&until, path(case));
            scope.spawn(move || {
                // Some change many times within `revalidate`, others stay for some time.
                let pause = [3, 40, 250, 1_700][(number + number / 4) % 4];
                let pause = if case.way == Way::Grown {
                    pause.min(40)
                } else {
                    pause
                };
                for version in first(case) + 1.. {
                    if until.stop.load(Ordering::Relaxed) {
                        break;
                    }
                    case.write(&path, version);
                    std::thread::sleep(Duration::from_millis(pause));
                }
            });
        }
        let (served, cases, until) = (&served, &cases, &until);
        for number in 0..clients {
            scope.spawn(move || http1(&served.running, cases, until, number * 31));
            scope.spawn(move || {
                quic::run(async {
                    tokio::join!(
                        http2(&served.running, cases, until, 1 + number * 49),
                        http3(served, cases, until, 2 + number * 98),
                    );
                });
            });
        }
        let began = Instant::now();
        while !until.stop.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(100));
            let now = began.elapsed().as_secs_f64();
            resident.push((now, status_kib("self", "VmRSS") as f64));
            held.push((now, held_bytes() as f64 / 1024.0));
        }
    });
    let sum = |of: fn(&Case) -> &AtomicU64| -> u64 {
        cases
            .iter()
            .map(|case| of(case).load(Ordering::Relaxed))
            .sum()
    };
    for case in &cases {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        println!(
            "{:>28}: {:>7} whole, {:>6} parts, {:>5} cut, {:>4} times 503, {} torn, at most {:.2} s old",
            case.name,
            of(&case.whole),
            of(&case.parts),
            of(&case.cut),
            of(&case.unavailable),
            of(&case.torn),
            of(&case.stale) as f64 / 1e6,
        );
    }
    let oldest = cases
        .iter()
        .map(|case| case.stale.load(Ordering::Relaxed))
        .max();
    println!(
        "{} whole, {} parts, {} cut, {} times 503, {} torn; the oldest was {:.2} s old at the request \
         (revalidate: {revalidate:?})",
        sum(|case| &case.whole),
        sum(|case| &case.parts),
        sum(|case| &case.cut),
        sum(|case| &case.unavailable),
        sum(|case| &case.torn),
        oldest.unwrap() as f64 / 1e6,
    );
    let slow = sum(|case| &case.slow);
    if slow > 0 {
        println!(
            "BUSY MACHINE, so not judged: {slow} answers of versions that were written too slowly"
        );
    }
    // What is resident has in it what the allocator keeps for the threads of the clients.
    for (what, samples) in [("resident", &resident), ("allocated", &held)] {
        if let Some(line) = memory(what, samples) {
            println!("{line}");
        }
    }
    assert_eq!(sum(|case| &case.torn), 0, "no answer is of two versions");
    for case in &cases {
        // One that is rewritten all the time may be cut each time, or never be at rest.
        let answered = [&case.whole, &case.parts, &case.cut, &case.unavailable];
        let answered = answered.map(|count| count.load(Ordering::Relaxed));
        assert!(
            answered.iter().any(|&count| count > 0),
            "{}: never answered",
            case.name
        );
    }
}

#[test]
fn no_answer_is_torn_whatever_happens_to_files() {
    run(u64::MAX, Duration::from_secs(8), 2);
}

#[test]
#[ignore = "takes minutes: make soak"]
fn soak() {
    let answers = std::env::var("SALVER_SOAK_ANSWERS");
    let answers = answers.map_or(1_000_000, |answers| answers.parse().unwrap());
    // Many: each waits for files that never rest.
    run(answers, Duration::from_secs(24 * 3600), 24);
}
