//! The flags of `salver serve` for TLS and for the versions of HTTP.

use clap::Args;

use crate::values::whole;

/// Flags for TLS and for the versions of HTTP.
#[derive(Args, Clone, Debug)]
pub struct TlsFlags {
    /// Serve over TLS at --port with the certificates in this PEM file, the server's own first.
    /// Repeatable, or separated by commas, as --tls-key is: clients get the one for the host that
    /// they ask for, or the first
    #[cfg(feature = "tls")]
    #[arg(long, value_name = "FILE", value_delimiter = ',')]
    pub tls_cert: Vec<std::path::PathBuf>,

    /// The PEM file with the private key of each --tls-cert, in the same order
    #[cfg(feature = "tls")]
    #[arg(long, value_name = "FILE", value_delimiter = ',')]
    pub tls_key: Vec<std::path::PathBuf>,

    /// Serve over TLS at --port with a certificate for localhost and --host that is made at the
    /// start; browsers warn of it
    #[cfg(feature = "self-signed")]
    #[arg(long)]
    pub tls_self_signed: bool,

    /// Also serve at this port, without TLS. Repeatable, or separated by commas
    #[arg(long, value_name = "PORT", value_delimiter = ',', value_parser = whole(0u16, 65535))]
    pub http_port: Vec<u16>,

    /// At this port redirect to the first --port, which has TLS
    #[cfg(feature = "tls")]
    #[arg(long, value_name = "PORT", value_parser = whole(0u16, 65535))]
    pub https_redirect: Option<u16>,

    /// Have browsers use nothing but TLS with this host for so long (Strict-Transport-Security)
    /// [default without SECONDS: 31536000, a year]
    #[cfg(feature = "tls")]
    #[arg(long,
        value_name = "SECONDS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        value_parser = crate::hsts::hsts)]
    pub hsts: Option<crate::hsts::Hsts>,

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
    #[cfg(feature = "http3")]
    #[arg(long)]
    pub no_http3: bool,

    /// Undo --no-http3
    #[cfg(feature = "http3")]
    #[arg(long)]
    pub http3: bool,
}
