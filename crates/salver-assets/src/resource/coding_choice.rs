//! The choice of a request among the representations of a file.

use salver_semantics::AcceptEncoding;

/// The codings that a request accepts, and whether it wants a file's own bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodingChoice {
    pub(crate) accept: AcceptEncoding,
    /// True if it asks for a part: then codings that are made are passed over, so that a part is of the same
    /// representation whether a coding is ready by then or not.
    pub(crate) is_for_part: bool,
}
