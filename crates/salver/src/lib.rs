#![doc = include_str!("../README.md")]
//!
//! # Where to begin
//!
//! [`main`] is the whole command. It goes from arguments and environment, which are typed ([`flags`]), to
//! settings of the engine and the server, checked once ([`settings`]), and carries them out ([`commands`]).
#![forbid(unsafe_code)]

pub mod banner;
pub mod commands;
pub mod failure;
pub mod flags;
pub mod log;
pub mod mount_flag;
pub mod settings;
pub mod signal;
pub mod tls_flags;
mod tls_settings;
pub mod values;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;

use failure::{EXIT_MISUSED, Failure, one_line};
use flags::{Bench, Cli, Command};
use log::say;

/// Runs the command line `arguments`, the program's name first, and says how it ended.
///
/// 0 is fine, 1 failed (a taken port, say), 2 misused (a wrong value, say). Each failure is one
/// line on standard error.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::read(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            return match error.kind() {
                // What was asked for goes to standard output.
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                    let _ = error.print();
                    ExitCode::SUCCESS
                }
                ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                    let _ = error.print();
                    ExitCode::from(EXIT_MISUSED)
                }
                _ => {
                    let failure = Failure::Misused(one_line(&error.render().to_string()));
                    say(&format!("salver: {failure}"));
                    failure.exit_code()
                }
            };
        }
    };
    let result = match cli.command {
        Command::Serve(flags) => commands::serve::run(&flags),
        Command::Bench(bench) => match bench.what {
            Bench::Compare(flags) => commands::bench_compare::run(&flags),
            Bench::Arena(flags) => commands::bench_arena::run(&flags),
            Bench::Load(flags) => commands::bench_load::run(&flags),
            Bench::Strategies(flags) => commands::strategies::run(&flags),
            Bench::Cache(flags) => commands::bench_cache::run(&flags),
            Bench::Coalesce(flags) => commands::bench_coalesce::run(&flags),
            Bench::Ui(flags) => commands::bench_ui::run(&flags),
        },
    };
    // First of all, so that there is room for what is said last.
    log::flush();
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            say(&format!("salver: {failure}"));
            log::flush();
            failure.exit_code()
        }
    }
}
