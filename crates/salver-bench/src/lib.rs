#![doc = include_str!("../README.md")]
//!
//! # Where to begin
//!
//! [`load::run`] carries out a [`load::Load`] of a [`workload::Workload`] and gives a [`model::Measured`];
//! [`compare`] measures two servers in turns. All of it is blocking, on threads of its own. Errors say who
//! must act: see [`error::BenchError`].
//!
//! Here with a server of its own:
//!
//! ```
//! use std::io::{BufRead, BufReader, Write};
//! use std::net::TcpListener;
//! use std::ops::ControlFlow;
//! use std::time::Duration;
//! use salver_bench::load::{Load, run};
//! use salver_bench::workload::Workload;
//!
//! let listener = TcpListener::bind("127.0.0.1:0")?;
//! let url = format!("http://{}/", listener.local_addr()?);
//! std::thread::spawn(move || {
//!     for stream in listener.incoming().flatten() {
//!         std::thread::spawn(move || {
//!             for line in BufReader::new(&stream).lines().map_while(Result::ok) {
//!                 if line.is_empty() {
//!                     let _ = (&stream).write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
//!                 }
//!             }
//!         });
//!     }
//! });
//! let load = Load {
//!     connections: 2,
//!     warm_up: Duration::from_millis(20),
//!     duration: Duration::from_millis(100),
//!     ..Load::new(Workload::of_urls(&[url])?)
//! };
//! let measured = run(&load, &mut |_| ControlFlow::Continue(()))?;
//! assert!(measured.requests > 0 && measured.errors.total() == 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod answer;
pub mod burst;
pub mod compare;
pub mod error;
pub mod load;
mod machine;
mod protocol;
mod requests;
mod result;
pub mod staleness;
pub mod ui;

pub use machine::{disturbance, environment, process};
pub use protocol::{target, transport};
pub use requests::{order, workload};
pub use result::{latency, model, report, text, threshold};
