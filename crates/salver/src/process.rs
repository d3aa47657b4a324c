//! The process of a server that runs for good: whose rights it has, what it may open, who manages it, and how another
//! program takes its place.

pub(crate) mod confinement;
pub(crate) mod handover;
pub(crate) mod pid_file;
pub(crate) mod sandbox;
pub(crate) mod service_manager;
