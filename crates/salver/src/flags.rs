//! The commands of `salver`, typed. The comments on the fields are what `--help` says.

#[cfg(target_os = "linux")]
use clap::Args;
use clap::{CommandFactory, Parser, Subcommand};
use salver_config::Shell;

#[cfg(target_os = "linux")]
use crate::commands::admin::{HealthFlags, PurgeFlags, StatusFlags};
#[cfg(target_os = "linux")]
use crate::commands::bench::cache::CacheFlags;
#[cfg(target_os = "linux")]
use crate::commands::bench::coalesce::CoalesceFlags;
#[cfg(target_os = "linux")]
use crate::commands::bench::compare::CompareFlags;
#[cfg(target_os = "linux")]
use crate::commands::bench::load::LoadFlags;
#[cfg(target_os = "linux")]
use crate::commands::bench::staleness::StalenessFlags;
#[cfg(target_os = "linux")]
use crate::commands::bench::strategies::StrategiesFlags;
#[cfg(target_os = "linux")]
use crate::commands::bench::ui::UiFlags;
use crate::commands::check::CheckFlags;
#[cfg(feature = "compress")]
use crate::commands::compress::CompressFlags;
use crate::commands::deploy::DeployFlags;
use crate::commands::diff::DiffFlags;
use crate::commands::fsck::FsckFlags;
#[cfg(feature = "basic-auth")]
use crate::commands::hash_password::HashPasswordFlags;
use crate::commands::import::ImportFlags;
use crate::commands::prune::PruneFlags;
use crate::commands::releases::ReleasesFlags;
use crate::commands::rollback::RollbackFlags;
#[cfg(target_os = "linux")]
use crate::commands::running_server::RunningServerFlags;
use crate::serve_flags::ServeFlags;

/// Serves static files: fast, fresh and correct.
#[derive(Debug, Parser)]
#[command(
    name = "salver",
    version,
    arg_required_else_help = true,
    override_usage = "salver [serve] [OPTIONS] [PATH]\n       salver <COMMAND> ...",
    after_help = "`salver DIR` is short for `salver serve DIR`; `salver serve --help` has all its flags."
)]
pub struct Cli {
    /// With --version: also commit, target, features and libraries
    #[arg(long)]
    pub verbose: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What `salver` can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve a directory over HTTP
    ///
    /// The command line wins over the environment, that over the configuration file, and that over the defaults.
    /// Of flags that contradict each other the last one wins.
    Serve(ServeFlags),
    /// Say what is wrong with a configuration, and serve nothing
    Check(CheckFlags),
    /// Write siblings of files in Brotli, Zstandard and gzip, once for a build
    #[cfg(feature = "compress")]
    Compress(CompressFlags),
    /// Make a directory the current release of a store, at once
    Deploy(DeployFlags),
    /// List the releases of a store
    Releases(ReleasesFlags),
    /// Make an older release the current one again, at once
    Rollback(RollbackFlags),
    /// Remove old releases of a store, and what only they have
    Prune(PruneFlags),
    /// Say what differs between two releases
    Diff(DiffFlags),
    /// Read a whole store, and name what is damaged
    Fsck(FsckFlags),
    /// Say what a running server is doing
    #[cfg(target_os = "linux")]
    Status(StatusFlags),
    /// Have a running server look at files anew, whatever is cached of them
    #[cfg(target_os = "linux")]
    Purge(PurgeFlags),
    /// Say if a running server accepts requests, by the exit code
    #[cfg(target_os = "linux")]
    Health(HealthFlags),
    /// Turn what a site has for another host into salver.toml
    Import(ImportFlags),
    /// Hash a password, for who may see a site
    #[cfg(feature = "basic-auth")]
    HashPassword(HashPasswordFlags),
    /// Have a running server read its configuration again
    ///
    /// It serves by the new one, or goes on by the old one and says why. With --pid-file this waits for that; with --pid
    /// the server's log says it.
    #[cfg(target_os = "linux")]
    Reload(RunningServerFlags),
    /// Have a running server replaced by the program that is installed now
    ///
    /// No connection is refused meanwhile. If the new program does not start, the old one serves on and says why.
    #[cfg(target_os = "linux")]
    Upgrade(RunningServerFlags),
    /// Print the manual page, in roff
    Man {
        /// The page of a command beneath: bench load, say
        command: Vec<String>,
    },
    /// Print what completes command lines in a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Measure on this machine
    #[cfg(target_os = "linux")]
    Bench(BenchFlags),
}

#[cfg(target_os = "linux")]
/// Measure on this machine.
#[derive(Args, Clone, Debug)]
#[command(arg_required_else_help = true)]
pub struct BenchFlags {
    /// What to measure.
    #[command(subcommand)]
    pub what: Bench,
}

#[cfg(target_os = "linux")]
/// What `salver bench` can measure.
#[derive(Clone, Debug, Subcommand)]
pub enum Bench {
    /// Load a server and look at every answer
    Load(Box<LoadFlags>),
    /// Which of two servers is faster, if that can be told
    Compare(Box<CompareFlags>),
    /// What the cache is worth: plain against cached serving of files of six sizes
    Cache(CacheFlags),
    /// How much one shared load saves when many ask for one cold file at once
    Coalesce(CoalesceFlags),
    /// How long old bytes are served after a file was replaced
    Staleness(Box<StalenessFlags>),
    /// What each way to send a file costs here, and the settings that follow
    Strategies(StrategiesFlags),
    /// A local page that measures and keeps what was measured
    Ui(UiFlags),
}

/// The whole command line as the parser takes it.
pub fn command() -> clap::Command {
    Cli::command()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_holds_together() {
        command().debug_assert();
    }
}
