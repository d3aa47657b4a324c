//! The flags of `salver serve` for TLS and for the versions of HTTP.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::values::whole;

/// How long `--hsts` holds if it does not say: a year.
const A_YEAR: Duration = Duration::from_secs(31_536_000);

/// Flags for TLS and for the versions of HTTP.
#[derive(Args, Clone, Debug)]
pub struct TlsFlags {
    /// Serve over TLS at --port with the certificates in this PEM file, the server's own first.
    /// Repeatable, or separated by commas, as --tls-key is: clients get the one for the host that
    /// they ask for, or the first
    #[arg(long, value_name = "FILE", value_delimiter = ',')]
    pub tls_cert: Vec<PathBuf>,

    /// The PEM file with the private key of each --tls-cert, in the same order
    #[arg(long, value_name = "FILE", value_delimiter = ',')]
    pub tls_key: Vec<PathBuf>,

    /// Serve over TLS at --port with a certificate for localhost and --host that is made at the
    /// start; browsers warn of it
    #[arg(long)]
    pub tls_self_signed: bool,

    /// Also serve at this port, without TLS. Repeatable, or separated by commas
    #[arg(long, value_name = "PORT", value_delimiter = ',', value_parser = whole(0u16, 65535))]
    pub http_port: Vec<u16>,

    /// At this port redirect to the first --port, which has TLS
    #[arg(long, value_name = "PORT", value_parser = whole(0u16, 65535))]
    pub https_redirect: Option<u16>,

    /// Have browsers use nothing but TLS with this host for so long (Strict-Transport-Security)
    /// [default without SECONDS: 31536000, a year]
    #[arg(long,
        value_name = "SECONDS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        value_parser = hsts)]
    pub hsts: Option<Hsts>,

    /// Do not speak HTTP/1.1: for what is only asked by a proxy or a program in HTTP/2
    #[arg(long)]
    pub no_http1: bool,

    /// Undo --no-http1
    #[arg(long)]
    pub http1: bool,

    /// Do not speak HTTP/2
    #[arg(long)]
    pub no_http2: bool,

    /// Undo --no-http2
    #[arg(long)]
    pub http2: bool,

    /// Do not speak HTTP/3
    #[arg(long)]
    pub no_http3: bool,

    /// Undo --no-http3
    #[arg(long)]
    pub http3: bool,
}

/// What `--hsts` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hsts {
    /// Nothing; the environment can say so.
    Off,
    /// For how long; no time at all has browsers forget it.
    For(Duration),
}

/// A number of seconds; nothing or `true` for a year; `false` for none.
fn hsts(text: &str) -> Result<Hsts, String> {
    match text {
        "" | "true" => Ok(Hsts::For(A_YEAR)),
        "false" => Ok(Hsts::Off),
        _ => text
            .parse::<u32>()
            .map(|seconds| Hsts::For(Duration::from_secs(seconds.into())))
            .map_err(|_| "not a number of seconds: give 31536000 for a year, say".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_year_unless_it_is_said() {
        let seconds = |seconds| Ok(Hsts::For(Duration::from_secs(seconds)));
        assert_eq!(hsts(""), seconds(31_536_000));
        assert_eq!(hsts("true"), seconds(31_536_000));
        assert_eq!(hsts("0"), seconds(0));
        assert_eq!(hsts("300"), seconds(300));
        assert_eq!(hsts("false"), Ok(Hsts::Off));
        for text in ["-1", "1d", "5000000000", "max-age=1", "1.5"] {
            assert!(hsts(text).unwrap_err().contains("31536000"), "{text}");
        }
    }
}
