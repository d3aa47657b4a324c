//! TLS of the client, which this build does not have.

use std::io;
use std::net::TcpStream;
use std::path::Path;

use super::stream::Stream;
use crate::failure::Failure;

/// The certificates of authorities that are believed: none.
#[derive(Clone, Debug)]
pub(super) struct Trust;

impl Trust {
    /// None.
    ///
    /// # Errors
    /// A file is given.
    pub(super) fn new(file: Option<&Path>) -> Result<Self, Failure> {
        match file {
            None => Ok(Trust),
            Some(_) => Err(Failure::Misused("--ca: this build has no TLS".to_owned())),
        }
    }

    /// Refuses: there is no TLS.
    ///
    /// # Errors
    /// In any case.
    pub(super) fn secure(&self, _: TcpStream, _: &str) -> io::Result<Box<dyn Stream>> {
        Err(io::Error::other(
            "this build has no TLS: use one with the feature tls",
        ))
    }
}
