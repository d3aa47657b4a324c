//! The decoders of content codings, each behind the feature of its name.

use std::io::Read;

use salver_semantics::coding::ContentCoding;

/// The codings that this build decodes: those of the crate's features.
pub const DECODED: &[ContentCoding] = &[
    #[cfg(feature = "brotli")]
    ContentCoding::Brotli,
    #[cfg(feature = "zstd")]
    ContentCoding::Zstd,
    #[cfg(feature = "gzip")]
    ContentCoding::Gzip,
];

/// What `read` makes of the content that `reader` has in `coding`, and true if its decoder took bytes from
/// `reader` that are behind the end of the coded stream. `None` if no browser would decode it, or this build
/// does not.
///
/// `read` sets the bound: what it does not read is not decoded. A decoder may leave bytes in `reader` that are behind
/// the end of the stream, and some take nothing at all for an empty one: who must know looks.
pub fn decode_with<T>(
    reader: impl Read,
    coding: ContentCoding,
    read: impl FnOnce(&mut dyn Read) -> T,
) -> Option<(T, bool)> {
    match coding {
        #[cfg(feature = "brotli")]
        ContentCoding::Brotli => brotli(reader, read),
        #[cfg(feature = "zstd")]
        ContentCoding::Zstd => zstd(reader, read),
        #[cfg(feature = "gzip")]
        ContentCoding::Gzip => {
            let mut decoder = flate2::read::MultiGzDecoder::new(reader);
            Some((read(&mut decoder), false))
        }
        // Identity, and what was left out.
        _ => {
            drop((reader, read));
            None
        }
    }
}

#[cfg(feature = "brotli")]
fn brotli<T>(reader: impl Read, read: impl FnOnce(&mut dyn Read) -> T) -> Option<(T, bool)> {
    use std::io::BufRead as _;

    // Given one byte at a time, the decoder takes none beyond the end of its stream, so that what
    // trails it is still there to be noticed.
    let mut source = std::io::BufReader::new(reader);
    // RFC 7932 section 9.1 reserves this start; encoders use it for windows that no browser takes, and
    // this decoder would.
    match source.fill_buf() {
        Ok([first, ..]) if first & 0x7f != 0x11 => {}
        _ => return None,
    }
    let found = read(&mut brotli_decompressor::Decompressor::new(&mut source, 1));
    Some((found, !source.buffer().is_empty()))
}

#[cfg(feature = "zstd")]
fn zstd<T>(reader: impl Read, read: impl FnOnce(&mut dyn Read) -> T) -> Option<(T, bool)> {
    /// The window, as a power of two: by RFC 9659 a decoder of the `zstd` content coding need not take
    /// one beyond 8 MiB.
    const WINDOW_LOG_MAX: u32 = 23;

    let mut decoder = zstd::stream::read::Decoder::new(reader).ok()?;
    decoder.window_log_max(WINDOW_LOG_MAX).ok()?;
    Some((read(&mut decoder), false))
}
