//! The flags of `salver serve`, typed. The comments on the fields are what `--help` says; the name of
//! each is that of its environment variable ([`variables`](crate::variables)).

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, ValueEnum};

use crate::mount_flag::{MountFlag, mount};
use crate::tls_flags::TlsFlags;
use crate::values::{Codings, Spa, codings, index_name, limit, size, spa, time, whole};

/// Serve a directory over HTTP.
///
/// The command line wins over the environment, and that over the defaults. Of flags that
/// contradict each other the last one wins.
#[derive(Args, Clone, Debug)]
#[command(args_override_self = true)]
pub struct ServeFlags {
    /// The directory to serve
    #[arg(value_name = "PATH", default_value = ".")]
    pub path: PathBuf,

    /// The address to listen on, or a name that stands for some; 0.0.0.0 is every interface over
    /// IPv4, :: over IPv4 and IPv6. Repeatable, or separated by commas
    #[arg(short = 'H', long, default_value = "127.0.0.1", value_delimiter = ',')]
    pub host: Vec<String>,

    /// The port to listen on; 0 takes any free one. Repeatable, or separated by commas
    #[arg(short, long, default_value = "8080", value_delimiter = ',', value_parser = whole(0u16, 65535))]
    pub port: Vec<u16>,

    /// TLS and the versions of HTTP.
    #[command(flatten)]
    pub tls: TlsFlags,

    /// Threads that serve [default: one per core]
    #[arg(long, value_name = "NUMBER", value_parser = whole(1u16, 1024))]
    pub workers: Option<u16>,

    /// File names that stand for their directory; the first that is there wins. Repeatable, or
    /// separated by commas
    #[arg(long,
        value_name = "NAME",
        default_value = "index.html",
        value_delimiter = ',',
        value_parser = index_name)]
    pub index: Vec<String>,

    /// Answer unknown paths that do not look like a file with this file of PATH and 200, as
    /// single-page applications need [default without FILE: the first index name]
    #[arg(long,
        value_name = "FILE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        value_parser = spa)]
    pub spa: Option<Spa>,

    /// Show another directory, or one file, at a path. Repeatable, or separated by commas
    #[arg(long,
        value_name = "PREFIX=DIR",
        value_delimiter = ',',
        value_parser = OsStringValueParser::new().try_map(mount))]
    pub mount: Vec<MountFlag>,

    /// Like --mount, but nothing of it is kept in memory: its files are read for each request
    #[arg(long,
        value_name = "PREFIX=DIR",
        value_delimiter = ',',
        value_parser = OsStringValueParser::new().try_map(mount))]
    pub mount_plain: Vec<MountFlag>,

    /// Memory for cached files, their heads and bookkeeping
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = size)]
    pub cache_size: u64,

    /// The longest file that is kept in memory; at most a sixteenth of --cache-size [default: 64KiB,
    /// or 1MiB with TLS, where the kernel cannot send from files]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub cache_max_file: Option<u64>,

    /// Keep nothing in memory: every request is answered from disk
    #[arg(long)]
    pub no_cache: bool,

    /// Undo --no-cache
    #[arg(long)]
    pub cache: bool,

    /// Load a file for each request that finds it missing, instead of once for all that ask
    /// meanwhile
    #[arg(long)]
    pub no_coalesce: bool,

    /// Undo --no-coalesce
    #[arg(long)]
    pub coalesce: bool,

    /// From this length on, files that are not kept in memory leave by sendfile instead of being
    /// read
    #[arg(long, value_name = "SIZE", default_value = "32KiB", value_parser = size)]
    pub sendfile_from: u64,

    /// Files beyond --cache-max-file that stay open between requests; one that nobody asks for is
    /// closed after 10s
    #[arg(long,
        value_name = "NUMBER",
        default_value_t = 1024,
        value_parser = whole(0u32, 1_000_000))]
    pub open_files: u32,

    /// How old the last comparison of a cached file with the disk may be; 0s compares every time
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = time)]
    pub revalidate: Duration,

    /// Precompressed siblings (.br, .zst, .gz) to look for; none for none
    #[arg(long, value_name = "CODINGS", default_value_t, value_parser = codings)]
    pub precompressed: Codings,

    /// Fill the cache before the first request is taken
    #[arg(long)]
    pub prewarm: bool,

    /// Undo --prewarm
    #[arg(long)]
    pub no_prewarm: bool,

    /// Serve names that begin with a dot; .well-known always is
    #[arg(long)]
    pub dotfiles: bool,

    /// Undo --dotfiles
    #[arg(long)]
    pub no_dotfiles: bool,

    /// Which symbolic links are followed: none, those that stay beneath their directory, or any
    #[arg(long, value_enum, default_value = "beneath")]
    pub symlinks: SymlinksFlag,

    /// Connections of the whole server. For one more the longest idle one is closed; if none is
    /// idle, it is answered 503
    #[arg(long,
        value_name = "NUMBER",
        default_value_t = 10_000,
        value_parser = whole(1u32, 10_000_000))]
    pub max_connections: u32,

    /// Connections of one client, an IPv4 address or an IPv6 network (/56); further ones are
    /// answered 503. Behind a proxy all are the proxy's [default: half of --max-connections]
    #[arg(long, value_name = "NUMBER", value_parser = whole(1u32, 10_000_000))]
    pub max_connections_per_client: Option<u32>,

    /// Memory for what connections hold: themselves, answers that are not taken yet, what is read
    /// ahead for them. It is shared fairly; the cache is not part of it
    #[arg(long, value_name = "SIZE", default_value = "512MiB", value_parser = size)]
    pub connection_memory: u64,

    /// How long a connection may wait for its next request
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = limit)]
    pub idle_timeout: Duration,

    /// How long the head of a request may take
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = limit)]
    pub header_timeout: Duration,

    /// How long a client may take nothing of its answer
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = limit)]
    pub send_timeout: Duration,

    /// What a client has to take of its answer each second; who takes less for --send-timeout is
    /// treated as one that takes nothing. 0: any byte will do
    #[arg(long, value_name = "SIZE", default_value = "128B", value_parser = size)]
    pub min_rate: u64,

    /// How long an answer may be waited for, on a slow disk say; then it is 503
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = limit)]
    pub answer_timeout: Duration,

    /// How long the end waits for answers under way; 0s cuts them
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time)]
    pub drain: Duration,

    /// When the server ends, print what it has counted, hits and loads among it, as one line of
    /// JSON
    #[arg(long)]
    pub statistics: bool,

    /// Say only what needs attention
    #[arg(short, long)]
    pub quiet: bool,
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
