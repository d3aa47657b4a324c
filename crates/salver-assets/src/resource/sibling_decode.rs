//! Reading a precompressed sibling: for its digest, for that of what it decodes to, and for its content.

use std::io::{self, Read};
use std::time::Instant;

use salver_semantics::coding::ContentCoding;

use crate::error::Stop;
use crate::resource::cached_content::CachedContent;
use crate::resource::engine_state::EngineState;
use crate::source::digest::{self, Hashed};
use crate::source::snapshot::{ReadContext, steady};
use crate::source::{Identity, Opened};

/// True if a sibling of this length saves anything.
pub(crate) fn is_worth_it(sibling: &Identity, original: &Identity) -> bool {
    sibling.length < original.length && sibling.length > 0
}

/// Reads a sibling once for both of its digests, and for its content if that is to be kept.
pub(crate) fn decode(
    shared: &EngineState,
    opened: &Opened,
    coding: ContentCoding,
    length: u64,
    keeps: bool,
    context: ReadContext<'_>,
    goes_on: &dyn Fn() -> bool,
) -> Result<(Hashed, Option<CachedContent>), Stop> {
    let of_bytes = |mut bytes: &[u8]| digest::hash_coded(&mut bytes, coding, length);
    if let Some(content) = CachedContent::from_reader(&opened.reader) {
        let hashed = of_bytes(&content.bytes)?;
        return Ok((hashed, Some(content).filter(|_| keeps)));
    }
    let read = steady(opened, context, |cursor| {
        if !keeps {
            let mut reader = WhileWanted(cursor, goes_on);
            return Ok((digest::hash_coded(&mut reader, coding, length)?, None));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(cursor.length()).unwrap_or(0));
        std::io::Read::read_to_end(cursor, &mut bytes)?;
        Ok((of_bytes(&bytes)?, Some(bytes)))
    });
    let (hashed, bytes) = read?;
    shared
        .pool
        .counters
        .bytes_loaded
        .add(opened.metadata.identity.length);
    let content = bytes.map(|bytes| CachedContent::counted(shared.pool.contents.count(bytes)));
    Ok((hashed, content))
}

/// Logs once why a sibling is not used, for the operator.
pub(crate) fn say(shared: &EngineState, path: &[u8], what: impl std::hash::Hash, why: &str) {
    let log = &shared.pool.log;
    let now = shared.since_epoch(Instant::now());
    let place = shared.place(path);
    if log.first(&log.siblings, now, (&place, what, why)) {
        tracing::warn!("{place}: passed over, {why}");
    }
}

/// Logs that siblings in this coding are not used, for who builds the program.
pub(crate) fn say_undecoded(shared: &EngineState, path: &[u8], coding: ContentCoding) {
    let feature = match coding {
        ContentCoding::Brotli => "brotli",
        ContentCoding::Zstd => "zstd",
        ContentCoding::Gzip | ContentCoding::Identity => "gzip",
    };
    let place = shared.place(path);
    tracing::warn!(
        "{place}: passed over, as all of its kind: it would have to be decoded first, and this program cannot; \
         build it with the feature `{feature}` of salver-tower, salver-server or salver-assets"
    );
}

/// A reader that fails once its second field returns false: the result is no longer wanted.
pub(crate) struct WhileWanted<'a, R>(pub(crate) &'a mut R, pub(crate) &'a dyn Fn() -> bool);

impl<R: Read> Read for WhileWanted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !(self.1)() {
            return Err(io::ErrorKind::Other.into());
        }
        self.0.read(buffer)
    }
}
