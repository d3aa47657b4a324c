//! What logging one request costs.
//!
//! ```text
//! cargo run --release -p salver-access-log --example entry_cost -- [ENTRIES] [FORMAT] [FILE]
//! ```
//!
//! Logs ENTRIES requests (default 1,000,000) as a browser sends them in FORMAT (`common`, `combined`, `extended`
//! or `json`; default `combined`) to FILE (default `/dev/null`), and prints the processor time that one took: of
//! the loop, and of the loop and the writer. There is one loop, which waits when the writer is 1,000 lines behind.
//!
//! Instructions are a better measure, for they come out the same each time. Those of `log_one`, divided by
//! 10,000, are what a loop pays:
//!
//! ```text
//! valgrind --tool=callgrind --callgrind-out-file=cost target/release/examples/entry_cost 10000 json
//! callgrind_annotate --inclusive=yes cost | grep log_one
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used)]

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Duration;

use salver_access_log::{
    AccessLog, AddressText, CacheState, Destination, Draft, Format, LogWriter, LoggedRequest,
    LoggedResponse, Producer, Protocol, RequestId, RequestIds, Settings,
};

/// The nanoseconds that a thread, by its folder in `/proc`, had of a processor.
fn of_thread(folder: &str) -> i64 {
    let text = std::fs::read_to_string(format!("{folder}/schedstat")).unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

/// Those of all threads.
fn of_all() -> i64 {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    threads
        .map(|thread| of_thread(thread.unwrap().path().to_str().unwrap()))
        .sum()
}

/// The entries that the writer is done with.
fn done(log: &AccessLog) -> u64 {
    let statistics = log.statistics();
    statistics.lines + statistics.dropped
}

/// One request, as a browser sends it. Not inlined, so that a profile has its cost.
#[inline(never)]
fn log_one(
    producer: &mut Producer,
    draft: &mut Draft,
    client: &AddressText,
    request_id: RequestId,
    number: u32,
) {
    let request = &black_box(LoggedRequest {
        client,
        user: b"",
        host: b"www.example.org",
        method: b"GET",
        path: b"/assets/index-4f9c2a1b.js",
        query: None,
        protocol: Protocol::Http11,
        started: Duration::from_secs(1_795_355_739) + Duration::from_micros(number.into()),
        request_id,
        trace: None,
        referer: b"https://www.example.org/products/overview?from=newsletter",
        user_agent: b"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) \
                          Chrome/140.0.0.0 Safari/537.36",
    });
    draft.keep(request);
    producer.log(
        draft,
        &LoggedResponse {
            status: 200,
            sent: 1024,
            duration: Duration::from_micros(123),
            coding: "br",
            cache: Some(CacheState::Hit),
            site: b"main",
        },
    );
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let entries: u32 = arguments
        .next()
        .map_or(1_000_000, |text| text.parse().unwrap());
    let format = match arguments.next().as_deref() {
        Some("common") => Format::Common,
        None | Some("combined") => Format::Combined,
        Some("extended") => Format::Extended,
        Some("json") => Format::Json,
        Some(other) => {
            eprintln!("entry_cost: {other} is no format: common, combined, extended or json");
            return ExitCode::from(2);
        }
    };
    let file = arguments.next().unwrap_or_else(|| "/dev/null".to_owned());
    let writer = LogWriter::start(|notice| eprintln!("{notice}")).unwrap();
    let settings = Settings {
        format,
        ..Settings::new(Destination::File(file.into()))
    };
    let log = writer.open(&settings).unwrap();
    let mut draft = Draft::default();
    let mut producer = log.producer();
    let mut ids = RequestIds::new().unwrap();
    let client = AddressText::new([203, 0, 113, 77].into());
    let began = (of_thread("/proc/thread-self"), of_all());
    for number in 0..entries {
        let number = black_box(number);
        log_one(&mut producer, &mut draft, &client, ids.next_id(), number);
        // A loop that serves as well is never so far ahead.
        while number % 256 == 255 && u64::from(number) > done(&log) + 1000 {
            std::thread::yield_now();
        }
    }
    while u64::from(entries) > done(&log) {
        std::thread::yield_now();
    }
    let of_loop = of_thread("/proc/thread-self") - began.0;
    let of_process = of_all() - began.1;
    assert!(writer.stop(Duration::from_secs(10)));
    let each = |time: i64| time / i64::from(entries.max(1));
    println!(
        "{} ns of the loop, {} ns in all, for one of {entries} entries; {:?}",
        each(of_loop),
        each(of_process),
        log.statistics(),
    );
    ExitCode::SUCCESS
}
