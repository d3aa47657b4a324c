#![doc = include_str!("../README.md")]
//!
//! # Where to begin
//!
//! [`main`] is the whole command. It goes from arguments ([`flags`], [`command_line`]) to a configuration, which
//! `salver-config` puts together with the environment and a file ([`serve_flags`]), from there to settings of the
//! engine and the server, checked once ([`settings`]), and carries them out ([`commands`]).
#![forbid(unsafe_code)]

mod access_log;
#[cfg(target_os = "linux")]
pub(crate) mod admin;
pub mod banner;
mod bounds;
mod browser;
#[cfg(target_os = "linux")]
mod bucket_events;
mod bucket_settings;
#[cfg_attr(not(feature = "object-store"), path = "buckets/absent.rs")]
mod buckets;
pub mod command_line;
pub mod commands;
mod conventions;
pub mod failure;
pub mod flags;
mod hosts;
mod kept_codings;
#[cfg(target_os = "linux")]
mod listening;
#[cfg_attr(not(feature = "listing-template"), path = "listing_template/absent.rs")]
mod listing_template;
#[cfg_attr(not(feature = "live-reload"), path = "live_reload/absent.rs")]
mod live_reload;
pub mod log;
mod machine;
mod page_variables;
#[cfg(not(target_os = "linux"))]
mod portable;
mod previous;
#[cfg(target_os = "linux")]
mod process;
mod proxies;
#[cfg_attr(not(target_os = "linux"), path = "portable/releases.rs")]
mod releases;
mod reports;
mod roots;
mod rules;
#[cfg(target_os = "linux")]
mod running;
pub mod serve_flags;
#[cfg_attr(not(target_os = "linux"), path = "portable/settings.rs")]
pub mod settings;
#[cfg_attr(not(target_os = "linux"), path = "portable/signal.rs")]
pub mod signal;
mod site_settings;
mod size;
mod statistics;
#[cfg(feature = "tls")]
mod tls_settings;
#[cfg(target_os = "linux")]
pub mod values;
mod version;
mod working_on_site;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use clap::error::ErrorKind;

use command_line::Unread;
#[cfg(target_os = "linux")]
use commands::bench;
#[cfg(target_os = "linux")]
use flags::Bench;
use flags::{Cli, Command};
use log::say;
use salver_config::Environment;

/// Runs the command line `arguments`, the program's name first, and says how it ended.
///
/// 0 is fine, 1 failed (a taken port, say), 2 misused (a wrong value, say). Each failure is one
/// line on standard error.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let environment = Environment::of(std::env::vars_os());
    let cli = match Cli::read(arguments) {
        Ok(cli) => cli,
        // What was asked for goes to standard output.
        Err(Unread::Asked(text)) => return show(&text),
        Err(Unread::Facts(text)) => return print(&text),
        Err(Unread::Wrong(failure)) => {
            say(&format!("salver: {failure}"));
            return failure.exit_code();
        }
    };
    let result = match cli.command {
        Command::Serve(flags) => commands::serve::run(&flags, &environment),
        Command::Check(flags) => commands::check::run(&flags, &environment),
        #[cfg(feature = "compress")]
        Command::Compress(flags) => commands::compress::run(&flags),
        Command::Deploy(flags) => commands::deploy::run(&flags),
        Command::Releases(flags) => commands::releases::run(&flags),
        Command::Rollback(flags) => commands::rollback::run(&flags),
        Command::Prune(flags) => commands::prune::run(&flags),
        Command::Diff(flags) => commands::diff::run(&flags),
        Command::Fsck(flags) => commands::fsck::run(&flags),
        #[cfg(target_os = "linux")]
        Command::Status(flags) => commands::admin::status(&flags, &environment),
        #[cfg(target_os = "linux")]
        Command::Purge(flags) => commands::admin::purge(&flags, &environment),
        #[cfg(target_os = "linux")]
        Command::Health(flags) => commands::admin::health(&flags, &environment),
        Command::Import(flags) => commands::import::run(&flags),
        #[cfg(feature = "basic-auth")]
        Command::HashPassword(flags) => commands::hash_password::run(&flags),
        #[cfg(target_os = "linux")]
        Command::Reload(flags) => commands::running_server::reload(&flags),
        #[cfg(target_os = "linux")]
        Command::Upgrade(flags) => commands::running_server::upgrade(&flags),
        Command::Man { command } => commands::written::man(flags::command(), &command),
        Command::Completions { shell } => commands::written::completions(flags::command(), shell),
        #[cfg(target_os = "linux")]
        Command::Bench(measured) => match measured.what {
            Bench::Compare(flags) => bench::compare::run(&flags),
            Bench::Staleness(flags) => bench::staleness::run(&flags),
            Bench::Load(flags) => bench::load::run(&flags),
            Bench::Strategies(flags) => bench::strategies::run(&flags),
            Bench::Cache(flags) => bench::cache::run(&flags),
            Bench::Coalesce(flags) => bench::coalesce::run(&flags),
            Bench::Ui(flags) => bench::ui::run(&flags),
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

/// Prints help or the version. Without arguments it is help that is asked for.
fn show(text: &clap::Error) -> ExitCode {
    if text.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return print(&text.render().to_string());
    }
    // Nobody is left to tell if that fails.
    let _ = text.print();
    ExitCode::SUCCESS
}

fn print(text: &str) -> ExitCode {
    let _ = write!(std::io::stdout(), "{text}");
    ExitCode::SUCCESS
}
