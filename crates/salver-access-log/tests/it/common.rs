//! Entries to log, and what was said about logs.

use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use salver_access_log::{
    AddressText, CacheState, Destination, Draft, LogWriter, LoggedRequest, LoggedResponse,
    Producer, Protocol, RequestId, Settings,
};

/// How long something that must happen may take on a machine that is busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Logs the request with this number; its path is the number.
pub(crate) fn log(producer: &mut Producer, number: u64) {
    log_with(producer, number, 200);
}

/// Logs the request with this number, answered with this status.
pub(crate) fn log_with(producer: &mut Producer, number: u64, status: u16) {
    let client = AddressText::new([192, 0, 2, 1].into());
    let path = format!("/{number}");
    let request = LoggedRequest {
        client: &client,
        user: b"",
        host: b"example.org",
        method: b"GET",
        path: path.as_bytes(),
        query: None,
        protocol: Protocol::Http11,
        started: Duration::from_secs(1_795_355_739),
        request_id: RequestId::from_u128(number.into()),
        trace: None,
        referer: b"",
        user_agent: b"",
    };
    let response = LoggedResponse {
        status,
        sent: 1024,
        duration: Duration::from_micros(123),
        coding: "",
        cache: Some(CacheState::Hit),
        site: b"",
    };
    let mut draft = Draft::default();
    draft.keep(&request);
    producer.log(&draft, &response);
}

/// The number of a line in one of the formats of text; it must be whole.
pub(crate) fn number(line: &str) -> u64 {
    let rest = line.strip_prefix("192.0.2.1 - - [22/Nov/2026:13:55:39 +0000] \"GET /");
    let number = rest.and_then(|rest| rest.strip_suffix(" HTTP/1.1\" 200 1024 \"-\" \"-\""));
    let number = number.and_then(|number| number.parse().ok());
    number.unwrap_or_else(|| panic!("{line:?}"))
}

/// The numbers of all lines of a file.
pub(crate) fn numbers(path: &Path) -> Vec<u64> {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines().map(number).collect()
}

/// A writer, and the notices that it gives.
pub(crate) fn writer() -> (LogWriter, Receiver<String>) {
    let (said, notices) = channel();
    let writer = LogWriter::start(move |notice| {
        let _ = said.send(notice.to_string());
    });
    (writer.unwrap(), notices)
}

/// Settings with the least queue.
pub(crate) fn small(destination: Destination) -> Settings {
    Settings {
        queue_bytes: 0,
        ..Settings::new(destination)
    }
}
