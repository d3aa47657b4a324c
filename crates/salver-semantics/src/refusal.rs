//! A request that is answered by a status that says what is wrong with it.

/// Why a request is refused, whatever carries it: the status is sent with a short content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The status code to send: 400, 413, 414, 417, 431, 501 or 505.
    pub status: u16,
    /// A short sentence for people, fit to be the content of the answer. It never holds bytes of
    /// the request.
    pub reason: &'static str,
}
