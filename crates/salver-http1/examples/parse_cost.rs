//! What reading one request head costs.
//!
//! ```text
//! cargo run --release -p salver-http1 --example parse_cost -- [ROUNDS] [HEAD]
//! ```
//!
//! Gives each of the heads below, or the one named, ROUNDS times (default 1,000,000) to
//! [`Connection::receive`], and prints the time of one in nanoseconds: one run on one machine, for a
//! first look. Instructions are a better measure, for they come out the same each time:
//!
//! ```text
//! valgrind --tool=callgrind target/release/examples/parse_cost 1000 wrk
//! valgrind --tool=callgrind target/release/examples/parse_cost 2000 wrk
//! ```
//!
//! The difference of the two totals, divided by 1000, is what one head costs; the loop around it is
//! about ten instructions of that.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::panic)]

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use salver_http1::{Connection, Event, Limits};

/// A name for the command line, and the head.
const HEADS: [(&str, &str); 7] = [
    ("least", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
    (
        "wrk",
        "GET /static/app.js HTTP/1.1\r\n\
         Host: 127.0.0.1:8080\r\n\
         Accept-Encoding: br;q=1, gzip;q=0.8\r\n\
         \r\n",
    ),
    (
        "curl",
        "GET /static/app.js?v=3 HTTP/1.1\r\n\
         Host: www.example.org\r\n\
         User-Agent: curl/8.14.1\r\n\
         Accept: */*\r\n\
         \r\n",
    ),
    (
        "chromium",
        "GET /assets/index-4f9c2a1b.js HTTP/1.1\r\n\
         Host: www.example.org\r\n\
         Connection: keep-alive\r\n\
         sec-ch-ua-platform: \"Linux\"\r\n\
         User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) \
         Chrome/140.0.0.0 Safari/537.36\r\n\
         sec-ch-ua: \"Chromium\";v=\"140\", \"Not=A?Brand\";v=\"24\", \"Google Chrome\";v=\"140\"\r\n\
         sec-ch-ua-mobile: ?0\r\n\
         Accept: */*\r\n\
         Origin: https://www.example.org\r\n\
         Sec-Fetch-Site: same-origin\r\n\
         Sec-Fetch-Mode: cors\r\n\
         Sec-Fetch-Dest: script\r\n\
         Referer: https://www.example.org/products/overview?from=newsletter\r\n\
         Accept-Encoding: gzip, deflate, br, zstd\r\n\
         Accept-Language: en-GB,en-US;q=0.9,en;q=0.8,de;q=0.7\r\n\
         \r\n",
    ),
    (
        "firefox-again",
        "GET /docs/guide/ HTTP/1.1\r\n\
         Host: docs.example.org\r\n\
         User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0\r\n\
         Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\
         Accept-Language: en-US,en;q=0.5\r\n\
         Accept-Encoding: gzip, deflate, br, zstd\r\n\
         Connection: keep-alive\r\n\
         Upgrade-Insecure-Requests: 1\r\n\
         Sec-Fetch-Dest: document\r\n\
         Sec-Fetch-Mode: navigate\r\n\
         Sec-Fetch-Site: none\r\n\
         Sec-Fetch-User: ?1\r\n\
         If-Modified-Since: Tue, 04 Nov 2025 10:15:30 GMT\r\n\
         If-None-Match: \"9f86d081884c7d659a2feaa0c55ad015-br\"\r\n\
         Priority: u=0, i\r\n\
         \r\n",
    ),
    (
        "proxied",
        "GET /media/film.mp4?token=abc%2Fdef&session=0123456789abcdef HTTP/1.1\r\n\
         host: origin.internal.example:8443\r\n\
         x-forwarded-for: 203.0.113.7, 198.51.100.23\r\n\
         x-forwarded-proto: https\r\n\
         x-request-id: 2f1c9a4e-6f0b-4a5e-9a86-0d6f6c1e7b11\r\n\
         via: 2 edge-cache\r\n\
         range: bytes=1048576-2097151\r\n\
         if-range: \"9f86d081884c7d659a2feaa0c55ad015\"\r\n\
         accept-encoding: identity;q=1, *;q=0\r\n\
         user-agent: Lavf/61.7.100\r\n\
         cookie: a=0123456789abcdef0123456789abcdef; b=fedcba9876543210fedcba9876543210\r\n\
         \r\n",
    ),
    (
        "ab",
        "GET /index.html HTTP/1.0\r\n\
         Connection: Keep-Alive\r\n\
         Host: [::1]:8080\r\n\
         User-Agent: ApacheBench/2.3\r\n\
         Accept: */*\r\n\
         \r\n",
    ),
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let rounds = arguments.next().map_or(Ok(1_000_000), |text| text.parse());
    let name = arguments.next();
    let chosen: Vec<_> = HEADS
        .iter()
        .filter(|(known, _)| name.as_deref().is_none_or(|name| name == *known))
        .collect();
    let (Ok(rounds @ 1..), false) = (rounds, chosen.is_empty()) else {
        eprintln!("usage: parse_cost [ROUNDS] [HEAD]");
        return ExitCode::from(2);
    };
    println!("{:<16}{:>8}{:>8}{:>10}", "head", "bytes", "fields", "ns");
    for (name, head) in chosen {
        let began = Instant::now();
        read(head.as_bytes(), rounds);
        let each = began.elapsed().as_secs_f64() * 1e9 / f64::from(rounds);
        // Neither the request line nor the empty line is a field line.
        let fields = head.lines().count() - 2;
        println!("{name:<16}{:>8}{fields:>8}{each:>10.1}", head.len());
    }
    ExitCode::SUCCESS
}

/// Reads `head` as often as that, one after the other on one connection.
fn read(head: &[u8], rounds: u32) {
    let limits = Limits::default();
    let mut connection = Connection::new();
    for _ in 0..rounds {
        let outcome = connection.receive(black_box(&limits), black_box(head), None);
        assert_eq!(outcome.0, head.len());
        match black_box(&outcome.1) {
            Event::Request(head) if head.persistent => {}
            Event::Request(_) => connection = Connection::new(),
            event => panic!("{event:?}"),
        }
    }
}
