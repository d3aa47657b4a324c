//! The flags that the benchmark's commands have in common: the version of HTTP, and whom they
//! trust.

use std::path::PathBuf;

use clap::Args;
use salver_bench::transport::{Http, Transport, Trust};
use salver_config::values::whole;

/// How servers are asked, but for the version.
#[derive(Args, Clone, Debug)]
pub struct TransportFlags {
    /// Requests under way at once on each connection, with HTTP/2 and HTTP/3: each is then counted
    /// as a connection would be, by --rate, --burst and the time-out
    #[arg(short = 'm', long, value_name = "NUMBER", default_value_t = 1, value_parser = whole(1usize, 1_000_000))]
    pub streams: usize,

    /// Trust the certificates in this PEM file too, and those that they have signed
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub ca: Option<PathBuf>,

    /// Trust any certificate: the result says so
    #[arg(long)]
    pub insecure: bool,
}

impl TransportFlags {
    /// The transport that they name, with this version of HTTP.
    pub fn transport(&self, http: Http) -> Transport {
        let trust = match (&self.ca, self.insecure) {
            (_, true) => Trust::Any,
            (Some(file), false) => Trust::File(file.clone()),
            (None, false) => Trust::System,
        };
        Transport {
            http,
            trust,
            streams: self.streams,
        }
    }
}

/// A version of HTTP.
///
/// # Errors
/// It is not one that is spoken here.
pub fn http(text: &str) -> Result<Http, String> {
    text.parse()
}
