//! Brotli against a dictionary (RFC 9841).

use std::io::{self, Read};

use super::library::{Dictionary, Encoder};
use super::{WINDOWS, run};

/// Appends to `coded` a stream against a dictionary (RFC 9841), as small as it gets.
pub(crate) fn encode_after(
    reader: &mut impl Read,
    length: usize,
    dictionary: &[u8],
    coded: Vec<u8>,
) -> io::Result<Vec<u8>> {
    /// Distances beyond this have no code (RFC 7932 section 4).
    const FARTHEST: usize = (1 << 26) - 4;

    let parameters = super::parameters(11, length);
    if dictionary.len() > FARTHEST - (1 << *WINDOWS.end()) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let prepared = Dictionary::new(dictionary, parameters.quality)?;
    let encoder = Encoder::with_dictionary(parameters, &prepared)?;
    run(encoder, reader, coded)
}
