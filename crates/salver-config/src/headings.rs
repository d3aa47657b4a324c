//! The headings that the settings of the server stand under, as rows to write others by.

use crate::row::{ROW, Row};

pub(crate) const LISTENING: Row = Row {
    heading: "Listening",
    ..ROW
};
pub(crate) const TLS: Row = Row {
    heading: "TLS and versions of HTTP",
    is_left_out: !cfg!(feature = "tls"),
    ..ROW
};
pub(crate) const VERSION: Row = Row {
    heading: TLS.heading,
    ..ROW
};
pub(crate) const CACHE: Row = Row {
    heading: "Cache",
    ..ROW
};
pub(crate) const LIMITS: Row = Row {
    heading: "Limits",
    ..ROW
};
pub(crate) const LOG: Row = Row {
    heading: "Access log",
    ..ROW
};
pub(crate) const ADMIN: Row = Row {
    heading: "Watching and steering",
    ..ROW
};
pub(crate) const PROXIES: Row = Row {
    heading: "Behind proxies",
    ..ROW
};
pub(crate) const PROCESS: Row = Row {
    heading: "The process and its rights",
    ..ROW
};
pub(crate) const RUNNING: Row = Row {
    heading: "Running",
    ..ROW
};
