//! The server where the loop of `salver-server` is not made for the system: hyper over `salver-tower`. What that lacks
//! is refused by name ([`absences`]), and stands in docs/platforms.md.

pub(crate) mod absences;
pub(crate) mod banner;
pub(crate) mod seats;
pub(crate) mod server;
pub(crate) mod sites;
pub(crate) mod timed_stream;
