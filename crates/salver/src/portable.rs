//! The server where the loop of `salver-server` is not made for the system: hyper over `salver-tower`. What that lacks
//! is refused by name ([`absences`]), and stands in docs/platforms.md.

pub(crate) mod absences;
pub(crate) mod answer_body;
pub(crate) mod connection;
pub(crate) mod listeners;
#[cfg_attr(not(feature = "basic-auth"), path = "portable/passwords/absent.rs")]
pub(crate) mod passwords;
pub(crate) mod request_log;
pub(crate) mod respond;
pub(crate) mod seats;
pub(crate) mod server;
pub(crate) mod shared;
pub(crate) mod sites;
pub(crate) mod timed_stream;
#[cfg_attr(not(feature = "tls"), path = "portable/tls/absent.rs")]
pub(crate) mod tls;
