//! A real server, fresh for each trial, and connections that all ask at the same moment.

use std::ffi::OsString;
use std::fmt::Display;
use std::time::Duration;

use salver_bench::burst::Burst as Connections;
use salver_bench::error::BenchError;
use salver_bench::model::Measured;

use super::cold::{ColdFile, NAME};
use crate::commands::bench::failure;
use crate::commands::bench::own_server::{Cores, OwnServer};
use crate::failure::Failure;

/// Whatever has not been answered by then is not.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A sixteenth of the cache is the most that one content may take.
const CACHE_OF: u64 = 16;

/// The default of `--cache-size`.
const CACHE: u64 = 256 * 1024 * 1024;

/// One trial: all requests, once.
#[derive(Clone, Debug)]
pub(super) struct Burst {
    pub(super) measured: Measured,
    /// How often the file was loaded for them.
    pub(super) loads: u64,
    /// True if the file was not in the page cache when it began.
    pub(super) cold: bool,
}

/// One trial. The connections are there before the file is made cold, and the server is held while
/// requests are written: it finds all of them at once.
pub(super) fn burst(
    cold: &ColdFile,
    connections: usize,
    coalesce: bool,
    cores: Option<Cores>,
) -> Result<Burst, Failure> {
    let length = cold.content.len() as u64;
    let cache = CACHE.max(length.saturating_mul(CACHE_OF));
    let shares = if coalesce {
        "--coalesce"
    } else {
        "--no-coalesce"
    };
    let arguments: [OsString; 10] = [
        shares.into(),
        format!("--max-connections={}", connections + 16).into(),
        "--idle-timeout=10m".into(),
        // All are opened before the first asks.
        "--header-timeout=10m".into(),
        "--connection-memory=4GiB".into(),
        // Nobody looks at the disk again while it is measured.
        "--revalidate=1h".into(),
        "--precompressed=none".into(),
        // The file is kept in memory: all descriptors are for connections.
        "--open-files=0".into(),
        format!("--cache-max-file={length}").into(),
        format!("--cache-size={cache}").into(),
    ];
    let server = OwnServer::start(cold.folder(), &arguments, cores)?;
    let url = format!("{}/{NAME}", server.url());
    let held = |error: &dyn Display| format!("the server cannot be held: {error}");
    let hold = server
        .hold()
        .ok_or_else(|| Failure::Failed(held(&"it has gone")))?;
    let measured = Cores::as_client(cores, || {
        let burst = Connections::connect(&url, &cold.content, connections, TIMEOUT)?;
        let is_cold = cold.cool();
        hold.stop()
            .map_err(|error| BenchError::Failed(held(&error)))?;
        Ok((burst.fire(|| hold.release()), is_cold))
    })?;
    let (measured, is_cold) = measured.map_err(failure)?;
    let counted = server.stop()?;
    Ok(Burst {
        measured,
        loads: counted.loads.saturating_sub(counted.revalidations),
        cold: is_cold,
    })
}
