#![doc = include_str!("../README.md")]
//!
//! # Where to begin
//!
//! [`TrustedNetworks`] are those of the operator's own proxies. [`client_address`] finds the client of a
//! request in the one field that those proxies write. [`read`] reads the header of the PROXY protocol at the
//! beginning of a connection; whether one is expected of a peer is settled before, by configuration and
//! [`TrustedNetworks::contains`], and never by looking whether one came.
#![forbid(unsafe_code)]

mod forwarded;
mod networks;
mod proxy_protocol;

pub use forwarded::{ForwardedField, HOPS_AT_MOST, client_address};
pub use networks::{Network, NetworkError, TrustedNetworks};
pub use proxy_protocol::{HEADER_AT_MOST, Progress, ProxyHeader, ProxyProtocolError, read};
