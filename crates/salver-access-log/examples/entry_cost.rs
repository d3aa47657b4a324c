//! What logging one request costs.
//!
//! ```text
//! cargo run --release -p salver-access-log --example entry_cost -- [ENTRIES] [FORMAT] [FILE]
//! ```
//!
//! Logs ENTRIES requests (default 1,000,000) as a browser sends them in FORMAT (`common`, `combined`, `extended`
//! or `json`; default `combined`) to FILE (default `/dev/null`), and prints the processor time that one took: of
//! the loop, and of the whole process, the writer included. There is one loop.
//!
//! Instructions are a better measure, for they come out the same each time. Those of the loop and of the writer
//! stand apart in:
//!
//! ```text
//! valgrind --tool=callgrind --separate-threads=yes target/release/examples/entry_cost 10000 json
//! ```
//!
//! The difference of two runs with different ENTRIES, divided by the difference of these, is what one costs.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used)]

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use salver_access_log::{
    AddressText, CacheState, Destination, Entry, Format, LogWriter, Protocol, RequestIds, Settings,
};

fn nanoseconds(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
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
    let mut producer = log.producer();
    let mut ids = RequestIds::new().unwrap();
    let client = AddressText::new([203, 0, 113, 77].into());
    let (process, thread) = (ClockId::ProcessCPUTime, ClockId::ThreadCPUTime);
    let began = (nanoseconds(process), nanoseconds(thread));
    for number in 0..entries {
        let number = black_box(number);
        producer.log(black_box(&Entry {
            client: &client,
            user: b"",
            host: b"www.example.org",
            method: b"GET",
            path: b"/assets/index-4f9c2a1b.js",
            query: None,
            protocol: Protocol::Http11,
            status: 200,
            sent: 1024,
            started: Duration::from_secs(1_795_355_739) + Duration::from_micros(number.into()),
            duration: Duration::from_micros(123),
            coding: "br",
            cache: Some(CacheState::Hit),
            request_id: ids.next_id(),
            trace: None,
            referer: b"https://www.example.org/products/overview?from=newsletter",
            user_agent: b"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) \
                          Chrome/140.0.0.0 Safari/537.36",
            site: b"main",
        }));
        // As a busy loop would: the writer gets the processor now and then.
        if number % 256 == 255 {
            std::thread::yield_now();
        }
    }
    let of_loop = nanoseconds(thread) - began.1;
    writer.stop(Duration::from_secs(10));
    let of_process = nanoseconds(process) - began.0;
    let each = |time: i64| time / i64::from(entries.max(1));
    println!(
        "{} ns of the loop, {} ns in all, for one of {entries} entries; {:?}",
        each(of_loop),
        each(of_process),
        log.statistics(),
    );
    ExitCode::SUCCESS
}
