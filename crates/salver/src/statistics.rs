//! The counters of a server that has ended, for a program that reads them.

use std::io::{self, Write};

use salver_access_log::Statistics as LogStatistics;
use salver_assets::Statistics;

/// Prints the counters as one line of JSON.
///
/// # Errors
/// Standard output cannot be written.
pub(crate) fn print_statistics(
    statistics: Statistics,
    logged: Option<LogStatistics>,
) -> io::Result<()> {
    let Statistics {
        hits,
        misses,
        coalesced,
        loads,
        revalidations,
        evictions,
        bytes_loaded,
        rulings,
        entries,
        bytes,
        open_files,
    } = statistics;
    let mut line = serde_json::json!({
        "hits": hits,
        "misses": misses,
        "coalesced": coalesced,
        "loads": loads,
        "revalidations": revalidations,
        "evictions": evictions,
        "bytes_loaded": bytes_loaded,
        "rulings": rulings,
        "entries": entries,
        "bytes": bytes,
        "open_files": open_files,
    });
    if let (Some(logged), Some(line)) = (logged, line.as_object_mut()) {
        line.insert("log_lines".to_owned(), logged.lines.into());
        line.insert("log_dropped".to_owned(), logged.dropped.into());
    }
    writeln!(io::stdout(), "{line}")
}
