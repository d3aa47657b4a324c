//! What all the programs share, so that they differ in nothing but how they serve files: the
//! arguments, the allocator, and one thread for axum.
//!
//! The allocator is mimalloc. With the feature `counting` it is the system's, counted.

#[cfg(feature = "axum")]
mod axum_server;
#[cfg(feature = "counting")]
mod counts;
#[cfg(feature = "json")]
mod json;
#[cfg(feature = "route")]
mod route;

use std::io;
use std::path::PathBuf;

#[cfg(feature = "axum")]
pub use axum_server::serve;
#[cfg(feature = "json")]
pub use json::greeting;
#[cfg(feature = "route")]
pub use route::router;

#[cfg(not(feature = "counting"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What a program is asked to do.
pub struct Asked {
    /// The folder to serve.
    pub root: PathBuf,
    /// The port to serve it on, of 127.0.0.1.
    pub port: u16,
}

/// The arguments `ROOT PORT`, with the feature `counting` `ROOT PORT COUNTS`: the port that tells the
/// counts from then on.
///
/// # Errors
/// If there are others, or that port cannot be had.
pub fn asked() -> io::Result<Asked> {
    let mut arguments = std::env::args().skip(1);
    let asked = Asked {
        root: arguments.next().ok_or_else(usage)?.into(),
        port: port(arguments.next())?,
    };
    #[cfg(feature = "counting")]
    counts::tell(port(arguments.next())?)?;
    match arguments.next() {
        None => Ok(asked),
        Some(_) => Err(usage()),
    }
}

fn port(argument: Option<String>) -> io::Result<u16> {
    argument
        .and_then(|port| port.parse().ok())
        .ok_or_else(usage)
}

fn usage() -> io::Error {
    io::Error::other("usage: ROOT PORT, and where allocations are counted a port that tells them")
}
