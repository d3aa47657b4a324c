//! The command line, typed. The comments on the fields are what `--help` says.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{BoolishValueParser, OsStringValueParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::commands::bench_arena::ArenaFlags;
use crate::commands::bench_cache::CacheFlags;
use crate::commands::bench_coalesce::CoalesceFlags;
use crate::commands::bench_compare::CompareFlags;
use crate::commands::bench_load::LoadFlags;
use crate::commands::bench_ui::UiFlags;
use crate::commands::strategies::{measured_size, seconds};
use crate::mount_flag::{MountFlag, mount};
use crate::tls_flags::TlsFlags;
use crate::values::{Codings, Spa, codings, index_name, limit, size, spa, time};

/// Serves static files: fast, fresh and correct.
#[derive(Debug, Parser)]
#[command(name = "salver", version, arg_required_else_help = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What `salver` can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve a directory over HTTP
    Serve(Box<ServeFlags>),
    /// Measure on this machine
    Bench(BenchFlags),
}

/// Measure on this machine.
#[derive(Args, Clone, Debug)]
#[command(arg_required_else_help = true)]
pub struct BenchFlags {
    /// What to measure.
    #[command(subcommand)]
    pub what: Bench,
}

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
    /// Ask for a built site as a browser does, and see how long old bytes are served
    Arena(Box<ArenaFlags>),
    /// What each way to send a file costs here, and the settings that follow
    Strategies(StrategiesFlags),
    /// A local page that measures and keeps what was measured
    Ui(UiFlags),
}

/// What each way to send a file costs on this machine, and the settings of `salver serve` that
/// follow.
///
/// The table goes to standard output. Nothing else should run meanwhile.
#[derive(Args, Clone, Debug)]
#[command(args_override_self = true)]
pub struct StrategiesFlags {
    /// A directory of the file system that will be served from; the files that are measured with
    /// are made in a folder of it and removed [default: the directory for temporary files]
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,

    /// Lengths to measure. Repeatable, or separated by commas
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "1KiB,4KiB,10KiB,16KiB,32KiB,50KiB,64KiB,100KiB,200KiB,256KiB,500KiB,1MiB",
        value_delimiter = ',',
        value_parser = measured_size,
        env = "SALVER_SIZES"
    )]
    pub sizes: Vec<u64>,

    /// How long to measure, in seconds, about
    #[arg(
        long,
        value_name = "NUMBER",
        default_value = "15",
        value_parser = seconds,
        env = "SALVER_SECONDS"
    )]
    pub seconds: Duration,

    /// Print one JSON document instead of tables
    #[arg(long, value_parser = BoolishValueParser::new(), env = "SALVER_JSON")]
    pub json: bool,
}

/// Serve a directory over HTTP.
///
/// The command line wins over the environment, and that over the defaults. Of flags that
/// contradict each other the last one wins.
#[derive(Args, Clone, Debug)]
#[command(args_override_self = true)]
pub struct ServeFlags {
    /// The directory to serve
    #[arg(value_name = "PATH", default_value = ".", env = "SALVER_PATH")]
    pub path: PathBuf,

    /// The address to listen on, or a name that stands for some; 0.0.0.0 is every interface over
    /// IPv4, :: over IPv4 and IPv6. Repeatable, or separated by commas
    #[arg(
        short = 'H',
        long,
        default_value = "127.0.0.1",
        value_delimiter = ',',
        env = "SALVER_HOST"
    )]
    pub host: Vec<String>,

    /// The port to listen on; 0 takes any free one. Repeatable, or separated by commas
    #[arg(
        short,
        long,
        default_value = "8080",
        value_delimiter = ',',
        env = "SALVER_PORT"
    )]
    pub port: Vec<u16>,

    /// TLS and the versions of HTTP.
    #[command(flatten)]
    pub tls: TlsFlags,

    /// Threads that serve [default: one per core]
    #[arg(
        long,
        value_name = "NUMBER",
        value_parser = clap::value_parser!(u16).range(1..=1024),
        env = "SALVER_WORKERS"
    )]
    pub workers: Option<u16>,

    /// File names that stand for their directory; the first that is there wins. Repeatable, or
    /// separated by commas
    #[arg(
        long,
        value_name = "NAME",
        default_value = "index.html",
        value_delimiter = ',',
        value_parser = index_name,
        env = "SALVER_INDEX"
    )]
    pub index: Vec<String>,

    /// Answer unknown paths that do not look like a file with this file of PATH and 200, as
    /// single-page applications need [default without FILE: the first index name]
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        value_parser = spa,
        env = "SALVER_SPA"
    )]
    pub spa: Option<Spa>,

    /// Show another directory, or one file, at a path. Repeatable, or separated by commas
    #[arg(
        long,
        value_name = "PREFIX=DIR",
        value_delimiter = ',',
        value_parser = OsStringValueParser::new().try_map(mount),
        env = "SALVER_MOUNT"
    )]
    pub mount: Vec<MountFlag>,

    /// Like --mount, but nothing of it is kept in memory: its files are read for each request
    #[arg(
        long,
        value_name = "PREFIX=DIR",
        value_delimiter = ',',
        value_parser = OsStringValueParser::new().try_map(mount),
        env = "SALVER_MOUNT_PLAIN"
    )]
    pub mount_plain: Vec<MountFlag>,

    /// Memory for cached files, their heads and bookkeeping
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "256MiB",
        value_parser = size,
        env = "SALVER_CACHE_SIZE"
    )]
    pub cache_size: u64,

    /// The longest file that is kept in memory; at most a sixteenth of --cache-size [default: 64KiB,
    /// or 1MiB with TLS, where the kernel cannot send from files]
    #[arg(
        long,
        value_name = "SIZE",
        value_parser = size,
        env = "SALVER_CACHE_MAX_FILE"
    )]
    pub cache_max_file: Option<u64>,

    /// Keep nothing in memory: every request is answered from disk
    #[arg(
        long,
        value_parser = BoolishValueParser::new(),
        env = "SALVER_NO_CACHE"
    )]
    pub no_cache: bool,

    /// Undo --no-cache
    #[arg(long)]
    pub cache: bool,

    /// Load a file for each request that finds it missing, instead of once for all that ask
    /// meanwhile
    #[arg(
        long,
        value_parser = BoolishValueParser::new(),
        env = "SALVER_NO_COALESCE"
    )]
    pub no_coalesce: bool,

    /// Undo --no-coalesce
    #[arg(long)]
    pub coalesce: bool,

    /// From this length on, files that are not kept in memory leave by sendfile instead of being
    /// read
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "32KiB",
        value_parser = size,
        env = "SALVER_SENDFILE_FROM"
    )]
    pub sendfile_from: u64,

    /// Files beyond --cache-max-file that stay open between requests; one that nobody asks for is
    /// closed after 10s
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 1024,
        value_parser = clap::value_parser!(u32).range(0..=1_000_000),
        env = "SALVER_OPEN_FILES"
    )]
    pub open_files: u32,

    /// How old the last comparison of a cached file with the disk may be; 0s compares every time
    #[arg(
        long,
        value_name = "TIME",
        default_value = "1s",
        value_parser = time,
        env = "SALVER_REVALIDATE"
    )]
    pub revalidate: Duration,

    /// Precompressed siblings (.br, .zst, .gz) to look for; none for none
    #[arg(
        long,
        value_name = "CODINGS",
        default_value = "br,zstd,gzip",
        value_parser = codings,
        env = "SALVER_PRECOMPRESSED"
    )]
    pub precompressed: Codings,

    /// Fill the cache before the first request is taken
    #[arg(
        long,
        value_parser = BoolishValueParser::new(),
        env = "SALVER_PREWARM"
    )]
    pub prewarm: bool,

    /// Undo --prewarm
    #[arg(long)]
    pub no_prewarm: bool,

    /// Serve names that begin with a dot; .well-known always is
    #[arg(
        long,
        value_parser = BoolishValueParser::new(),
        env = "SALVER_DOTFILES"
    )]
    pub dotfiles: bool,

    /// Undo --dotfiles
    #[arg(long)]
    pub no_dotfiles: bool,

    /// Which symbolic links are followed: none, those that stay beneath their directory, or any
    #[arg(long, value_enum, default_value = "beneath", env = "SALVER_SYMLINKS")]
    pub symlinks: SymlinksFlag,

    /// Connections of the whole server. For one more the longest idle one is closed; if none is
    /// idle, it is answered 503
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 10_000,
        value_parser = clap::value_parser!(u32).range(1..=10_000_000),
        env = "SALVER_MAX_CONNECTIONS"
    )]
    pub max_connections: u32,

    /// Connections of one client, an IPv4 address or an IPv6 network (/56); further ones are
    /// answered 503. Behind a proxy all are the proxy's [default: half of --max-connections]
    #[arg(
        long,
        value_name = "NUMBER",
        value_parser = clap::value_parser!(u32).range(1..=10_000_000),
        env = "SALVER_MAX_CONNECTIONS_PER_CLIENT"
    )]
    pub max_connections_per_client: Option<u32>,

    /// Memory for what connections hold: themselves, answers that are not taken yet, what is read
    /// ahead for them. It is shared fairly; the cache is not part of it
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "512MiB",
        value_parser = size,
        env = "SALVER_CONNECTION_MEMORY"
    )]
    pub connection_memory: u64,

    /// How long a connection may wait for its next request
    #[arg(
        long,
        value_name = "TIME",
        default_value = "60s",
        value_parser = limit,
        env = "SALVER_IDLE_TIMEOUT"
    )]
    pub idle_timeout: Duration,

    /// How long the head of a request may take
    #[arg(
        long,
        value_name = "TIME",
        default_value = "10s",
        value_parser = limit,
        env = "SALVER_HEADER_TIMEOUT"
    )]
    pub header_timeout: Duration,

    /// How long a client may take nothing of its answer
    #[arg(
        long,
        value_name = "TIME",
        default_value = "30s",
        value_parser = limit,
        env = "SALVER_SEND_TIMEOUT"
    )]
    pub send_timeout: Duration,

    /// What a client has to take of its answer each second; who takes less for --send-timeout is
    /// treated as one that takes nothing. 0: any byte will do
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "128B",
        value_parser = size,
        env = "SALVER_MIN_RATE"
    )]
    pub min_rate: u64,

    /// How long an answer may be waited for, on a slow disk say; then it is 503
    #[arg(
        long,
        value_name = "TIME",
        default_value = "30s",
        value_parser = limit,
        env = "SALVER_ANSWER_TIMEOUT"
    )]
    pub answer_timeout: Duration,

    /// How long the end waits for answers under way; 0s cuts them
    #[arg(
        long,
        value_name = "TIME",
        default_value = "10s",
        value_parser = time,
        env = "SALVER_DRAIN"
    )]
    pub drain: Duration,

    /// When the server ends, print what it has counted, hits and loads among it, as one line of
    /// JSON
    #[arg(long, value_parser = BoolishValueParser::new(), env = "SALVER_STATISTICS")]
    pub statistics: bool,

    /// Say only what needs attention
    #[arg(short, long, value_parser = BoolishValueParser::new(), env = "SALVER_QUIET")]
    pub quiet: bool,
}

impl Cli {
    /// Reads a command line, the program's name first, and the environment.
    ///
    /// Of a flag and the one that undoes it the last on the command line wins; the environment
    /// counts if neither is there. (The parser's own overriding takes a variable for a conflict.)
    ///
    /// # Errors
    /// What is wrong, or that help or the version is asked for.
    pub fn read<T: Into<OsString> + Clone>(
        arguments: impl IntoIterator<Item = T>,
    ) -> Result<Self, clap::Error> {
        let matches = Cli::command().try_get_matches_from(arguments)?;
        let mut cli = Cli::from_arg_matches(&matches)?;
        if let (Command::Serve(flags), Some((_, matches))) =
            (&mut cli.command, matches.subcommand())
        {
            flags.no_cache = last_said(matches, "no_cache", "cache");
            flags.no_coalesce = last_said(matches, "no_coalesce", "coalesce");
            flags.prewarm = last_said(matches, "prewarm", "no_prewarm");
            flags.dotfiles = last_said(matches, "dotfiles", "no_dotfiles");
            flags.tls.no_http1 = last_said(matches, "no_http1", "http1");
            flags.tls.no_http2 = last_said(matches, "no_http2", "http2");
            flags.tls.no_http3 = last_said(matches, "no_http3", "http3");
        }
        Ok(cli)
    }
}

/// Whether `flag` holds, given that `undo` undoes it.
fn last_said(matches: &ArgMatches, flag: &str, undo: &str) -> bool {
    let at = |id: &str| {
        let typed = matches.value_source(id) == Some(ValueSource::CommandLine);
        matches.index_of(id).filter(|_| typed)
    };
    match (at(flag), at(undo)) {
        (None, None) => matches.get_flag(flag),
        (flag, undo) => flag > undo,
    }
}

/// `--symlinks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SymlinksFlag {
    /// None are followed
    None,
    /// Those that stay beneath their directory
    Beneath,
    /// All; the directory is then no confinement
    Any,
}

impl From<SymlinksFlag> for salver_assets::Symlinks {
    fn from(flag: SymlinksFlag) -> Self {
        match flag {
            SymlinksFlag::None => salver_assets::Symlinks::None,
            SymlinksFlag::Beneath => salver_assets::Symlinks::Beneath,
            SymlinksFlag::Any => salver_assets::Symlinks::Any,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<ServeFlags, String> {
        let arguments = ["salver", "serve"].iter().chain(arguments);
        let cli = Cli::read(arguments).map_err(|error| error.to_string())?;
        match cli.command {
            Command::Serve(flags) => Ok(*flags),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_definition_holds_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn of_opposite_flags_the_last_wins() {
        fn check(arguments: &[&str], expected: [bool; 4]) {
            let flags = parse(arguments).unwrap();
            let found = [
                flags.no_cache,
                flags.no_coalesce,
                flags.prewarm,
                flags.dotfiles,
            ];
            assert_eq!(found, expected, "{arguments:?}");
        }
        check(&[], [false; 4]);
        check(
            &["--no-cache", "--no-coalesce", "--prewarm", "--dotfiles"],
            [true; 4],
        );
        check(&["--no-cache", "--cache"], [false; 4]);
        check(&["--cache", "--no-cache"], [true, false, false, false]);
        check(&["--no-coalesce", "--coalesce"], [false; 4]);
        check(
            &["--coalesce", "--no-coalesce"],
            [false, true, false, false],
        );
        check(&["--prewarm", "--no-prewarm"], [false; 4]);
        check(&["--no-prewarm", "--prewarm"], [false, false, true, false]);
        check(&["--dotfiles", "--no-dotfiles"], [false; 4]);
        check(
            &["--no-dotfiles", "--dotfiles", "--dotfiles"],
            [false, false, false, true],
        );
    }

    #[test]
    fn lists_repeat_or_are_separated_by_commas() {
        fn check(arguments: &[&str], index: &[&str], mounts: &[&str]) {
            let flags = parse(arguments).unwrap();
            assert_eq!(flags.index, index, "{arguments:?}");
            let all = flags.mount.iter().chain(&flags.mount_plain);
            let prefixes: Vec<_> = all.map(|mount| &*mount.prefix).collect();
            assert_eq!(prefixes, mounts, "{arguments:?}");
        }
        check(&[], &["index.html"], &[]);
        check(&["--index", "a,b"], &["a", "b"], &[]);
        check(&["--index", "a", "--index=b"], &["a", "b"], &[]);
        check(
            &["--mount", "/a=x", "--mount=/b=y"],
            &["index.html"],
            &["/a", "/b"],
        );
        check(&["--mount", "/a=x,/b=y"], &["index.html"], &["/a", "/b"]);
        check(
            &["--mount-plain", "/a=x,/b=y", "--mount-plain=/c=z"],
            &["index.html"],
            &["/a", "/b", "/c"],
        );
    }

    #[test]
    fn the_fallback_takes_its_file_only_after_an_equals_sign() {
        fn check(arguments: &[&str], spa: Option<Spa>, path: &str) {
            let flags = parse(arguments).unwrap();
            assert_eq!(
                (flags.spa, flags.path),
                (spa, PathBuf::from(path)),
                "{arguments:?}"
            );
        }
        check(&["dist"], None, "dist");
        check(&["--spa", "dist"], Some(Spa::Index), "dist");
        check(
            &["--spa=app.html", "dist"],
            Some(Spa::File("app.html".into())),
            "dist",
        );
    }

    #[test]
    fn at_most_ten_flags_are_short() {
        let command = Cli::command();
        let serve = command.find_subcommand("serve").unwrap();
        // And `-h`.
        assert!(
            serve
                .get_arguments()
                .filter(|flag| flag.get_short().is_some())
                .count()
                < 10
        );
    }
}
