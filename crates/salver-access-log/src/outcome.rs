//! The outcome of giving lines to an output.

use std::io;

/// What became of lines that an output was given.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// So many bytes of them are written; of these, so many lines were refused for their length.
    Taken { bytes: usize, refused: u64 },
    /// It takes more once what it has is taken.
    #[cfg_attr(
        not(target_os = "linux"),
        allow(dead_code, reason = "outputs are waited for")
    )]
    Full,
    /// It took nothing. `is_new` says that what it takes next goes to another connection, which must not begin
    /// in the midst of a line.
    Failed { error: io::Error, is_new: bool },
}
