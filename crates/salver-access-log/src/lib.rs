#![doc = include_str!("../README.md")]
//!
//! # Where to begin
//!
//! [`LogWriter::start`] starts the one thread that writes, [`LogWriter::open`] opens a log with its
//! [`Settings`], and [`AccessLog::producer`] gives each loop its own end of it. [`Draft::keep`] takes a
//! [`LoggedRequest`], [`Producer::log`] that and its [`LoggedResponse`]. A signal leads to [`LogWriter::reopen`], the end of the program to [`LogWriter::stop`].
//!
//! Each loop has its [`RequestIds`]; [`TraceParent`] reads and writes `traceparent`.
#![forbid(unsafe_code)]

mod address;
#[cfg_attr(not(target_os = "linux"), path = "portable/bell.rs")]
mod bell;
mod digits;
mod entry;
mod escape;
mod format;
mod log;
mod notice;
mod outcome;
#[cfg_attr(not(target_os = "linux"), path = "portable/output.rs")]
mod output;
mod queue;
mod rendered_second;
mod request_id;
mod sampling;
mod settings;
mod sync;
mod trace_context;
mod writer;

pub use address::AddressText;
pub use entry::{Draft, LoggedRequest, LoggedResponse, Protocol};
pub use format::Format;
pub use log::{AccessLog, Producer, Statistics};
pub use notice::Notice;
pub use request_id::{RequestId, RequestIds};
pub use salver_semantics::CacheState;
pub use sampling::Sampling;
pub use settings::{Destination, Settings, Syslog, SyslogFraming, SyslogSocket};
pub use trace_context::TraceParent;
pub use writer::{LogWriter, OpenError};
