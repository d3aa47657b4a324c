//! HTTP as a client speaks it: where a server is, connections to it, requests and answers on them.

pub(crate) mod http2;
pub(crate) mod http3;
pub(crate) mod message;
pub(crate) mod opened;
pub(crate) mod probe_client;
pub(crate) mod session;
pub mod target;
pub(crate) mod tls;
pub mod transport;
pub(crate) mod wire;
