//! The integration tests of the program, except those that need a process of their own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    missing_docs
)]

#[path = "../common/mod.rs"]
mod common;
mod loaded;
#[path = "../../../salver-bench/tests/truth/stub.rs"]
#[allow(dead_code, reason = "the tests of the library use the rest")]
mod stub;

mod access_log;
mod admin;
mod alternatives;
mod architecture_map;
mod bench_cache;
mod bench_coalesce;
mod bench_compare;
mod bench_load;
mod bench_outcome;
mod bench_transport;
mod bench_ui;
mod boundaries;
mod cgroup;
mod cli;
mod compress;
mod configuration;
mod conformance;
mod conformance_program;
mod curl;
#[cfg(feature = "compress")]
mod deltas;
mod development;
mod direction;
mod ending;
mod floods;
#[cfg(feature = "basic-auth")]
mod hash_password;
mod help;
mod import;
mod listing;
mod machine;
#[cfg(feature = "compress")]
mod made_codings;
mod page_variables;
mod previous;
mod process;
mod recipes;
mod releases;
mod rules;
mod said;
mod security;
mod sites;
mod tls;
mod variables;
mod version;
