//! The seam that carries a semantic request to a server, whatever the HTTP.

use crate::exchange::Request;
use crate::response::Response;

/// Carries one request and brings back its whole answer.
///
/// HTTP itself is in this crate; a `tower::Service` implements it beside its own code and plays
/// the same rows with [`crate::run_semantic`].
pub trait Transport {
    /// Sends the request and reads the answer to its end.
    ///
    /// # Errors
    /// A sentence saying what went wrong between the two: no connection, an answer that is not
    /// well-formed, or time run out.
    fn exchange(&self, request: &Request) -> Result<Response, String>;
}
