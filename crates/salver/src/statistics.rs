//! The counters of a server that has ended, for a program that reads them.

use std::io::{self, Write};

use salver_assets::Statistics;

/// Prints the counters as one line of JSON; behind them those of the access log by their names.
///
/// # Errors
/// Standard output cannot be written.
pub(crate) fn print_statistics(statistics: Statistics, logged: &[(&str, u64)]) -> io::Result<()> {
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
        codings_made,
        codings_taken,
        codings_useless,
        codings_waiting,
        coding_bytes,
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
        "codings_made": codings_made,
        "codings_taken": codings_taken,
        "codings_useless": codings_useless,
        "codings_waiting": codings_waiting,
        "coding_bytes": coding_bytes,
    });
    if let Some(line) = line.as_object_mut() {
        let more = logged.iter();
        line.extend(more.map(|(name, count)| ((*name).to_owned(), (*count).into())));
    }
    writeln!(io::stdout(), "{line}")
}
