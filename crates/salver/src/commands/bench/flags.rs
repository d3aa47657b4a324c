//! The flags that the commands have in common: the version of HTTP, and whom they trust.

use std::path::PathBuf;

use clap::Args;
use salver_bench::transport::{Http, Transport, Trust};
use salver_config::values::whole;

/// How servers are asked.
#[derive(Args, Clone, Debug)]
pub struct TransportFlags {
    /// The version of HTTP: 1, 2 or 3. Over TLS where the URL says https; without it HTTP/2 is spoken
    /// with prior knowledge
    #[arg(long, value_name = "VERSION", default_value = "1", value_parser = str::parse::<Http>)]
    pub http: Http,

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
    /// The transport that they name.
    pub(super) fn transport(&self) -> Transport {
        let trust = match (&self.ca, self.insecure) {
            (_, true) => Trust::Any,
            (Some(file), false) => Trust::File(file.clone()),
            (None, false) => Trust::System,
        };
        Transport {
            http: self.http,
            trust,
            streams: self.streams,
        }
    }
}
