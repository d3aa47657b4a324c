//! The settings of the whole server, and the rows of the table that describe them.

use std::path::PathBuf;
use std::time::Duration;

use crate::deploys::Deploys;
use crate::headings::{
    ADMIN, CACHE, LIMITS, LISTENING, LOG, PROCESS, PROXIES, RUNNING, TLS, VERSION,
};
use crate::kind::{PATH, SIZE, TEXT, TIME, TIME_LIMIT, choice, whole};
use crate::machine::MOST_WORKERS;
use crate::resolver::Resolver;
use crate::row::{Follows, ROW, Row, Share};
use crate::sandbox::Sandbox;
use crate::setting::Setting;
use crate::values::{ForwardedField, LogFormat};

/// The settings of the whole server. Sizes are in bytes.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the help of each row says what its field is")]
pub struct Server {
    pub config: Setting<Option<PathBuf>>,
    pub host: Setting<Vec<String>>,
    pub port: Setting<Vec<u16>>,
    pub tls_self_signed: Setting<bool>,
    pub http_port: Setting<Vec<u16>>,
    pub https_redirect: Setting<Option<u16>>,
    pub http1: Setting<bool>,
    pub http2: Setting<bool>,
    pub http3: Setting<bool>,
    pub cache_size: Setting<u64>,
    pub cache_max_file: Setting<Option<u64>>,
    pub coalesce: Setting<bool>,
    pub sendfile_from: Setting<u64>,
    pub open_files: Setting<u32>,
    pub revalidate: Setting<Duration>,
    pub prewarm: Setting<bool>,
    pub compress_cpu: Setting<u32>,
    pub cache_dir: Setting<Option<PathBuf>>,
    pub cache_dir_size: Setting<u64>,
    pub max_connections: Setting<u32>,
    pub max_connections_per_client: Setting<Option<u32>>,
    pub connection_memory: Setting<u64>,
    pub idle_timeout: Setting<Duration>,
    pub header_timeout: Setting<Duration>,
    pub send_timeout: Setting<Duration>,
    pub min_rate: Setting<u64>,
    pub answer_timeout: Setting<Duration>,
    pub log: Setting<Option<PathBuf>>,
    pub log_socket: Setting<Option<PathBuf>>,
    pub log_syslog: Setting<Option<String>>,
    pub log_format: Setting<LogFormat>,
    pub log_sample: Setting<u32>,
    pub cache_status: Setting<bool>,
    pub admin: Setting<Vec<String>>,
    pub metrics: Setting<Option<u16>>,
    pub admin_socket: Setting<Option<PathBuf>>,
    pub admin_token_file: Setting<Option<PathBuf>>,
    pub admin_token: Setting<Option<String>>,
    pub deploys: Deploys,
    pub trusted_proxies: Setting<Vec<String>>,
    pub forwarded_field: Setting<ForwardedField>,
    pub proxy_protocol: Setting<bool>,
    pub user: Setting<Option<String>>,
    pub group: Setting<Option<String>>,
    pub sandbox: Setting<Sandbox>,
    pub sandbox_paths: Setting<Vec<PathBuf>>,
    pub pid_file: Setting<Option<PathBuf>>,
    pub workers: Setting<Option<u16>>,
    pub drain: Setting<Duration>,
    pub statistics: Setting<bool>,
    pub quiet: Setting<bool>,
    pub verbose: Setting<bool>,
    pub open: Setting<bool>,
}

impl Server {
    #[allow(clippy::too_many_lines, reason = "it is a table")]
    pub(crate) fn read(from: &mut Resolver<'_>) -> Server {
        Server {
            config: from.optional(PATH, Row {
                flag: "config",
                short: Some('c'),
                help: "The configuration file, in TOML; what the command line and variables say wins over it",
                more: "No file is read unless it is named. `salver check` says what is wrong with one, and with \
                       --print what each setting is and where that was said.",
                ..RUNNING
            }),
            host: from.list(TEXT, Row {
                key: "host",
                flag: "host",
                short: Some('H'),
                default: "127.0.0.1",
                help: "The address to listen on, or a name that stands for some; 0.0.0.0 is every interface over \
                       IPv4, :: over IPv4 and IPv6. Repeatable, or separated by commas",
                ..LISTENING
            }),
            port: from.list(whole(0, 65535), Row {
                key: "port",
                flag: "port",
                short: Some('p'),
                value: "PORT",
                default: "8080",
                help: "The port to listen on; 0 takes any free one. Repeatable, or separated by commas",
                ..LISTENING
            }),
            tls_self_signed: from.switch(Row {
                key: "tls.self-signed",
                flag: "tls-self-signed",
                default: "false",
                help: "Serve over TLS at --port with a certificate for localhost and --host that is made at the \
                       start; browsers warn of it",
                is_left_out: !cfg!(feature = "self-signed"),
                ..TLS
            }),
            http_port: from.list(whole(0, 65535), Row {
                key: "http-port",
                flag: "http-port",
                value: "PORT",
                help: "Also serve at this port, without TLS. Repeatable, or separated by commas",
                ..LISTENING
            }),
            https_redirect: from.optional(whole(0, 65535), Row {
                key: "https-redirect",
                flag: "https-redirect",
                value: "PORT",
                help: "At this port redirect to the first --port, which has TLS",
                is_left_out: TLS.is_left_out,
                ..LISTENING
            }),
            http1: from.switch(Row {
                key: "http1",
                flag: "http1",
                default: "true",
                help: "Speak HTTP/1.1",
                negated: "Do not speak HTTP/1.1: for what is only asked by a proxy or a program in HTTP/2",
                ..VERSION
            }),
            http2: from.switch(Row {
                key: "http2",
                flag: "http2",
                default: "true",
                help: "Speak HTTP/2",
                negated: "Do not speak HTTP/2",
                ..VERSION
            }),
            http3: from.switch(Row {
                key: "http3",
                flag: "http3",
                default: "true",
                help: "Speak HTTP/3, where there is TLS",
                negated: "Do not speak HTTP/3",
                is_left_out: !cfg!(feature = "http3"),
                ..TLS
            }),
            cache_size: from.one(SIZE, Row {
                key: "cache.size",
                flag: "cache-size",
                default: "256MiB",
                follows: Follows::Memory(Share::Half),
                otherwise: "256MiB, or half of the memory if that is less",
                help: "Memory for cached files, their heads and bookkeeping",
                more: "The memory is the machine's, or what the cgroup of the process allows: the limit of a container, say.",
                ..CACHE
            }),
            cache_max_file: from.optional(SIZE, Row {
                key: "cache.max-file",
                flag: "cache-max-file",
                otherwise: "32KiB, or 1MiB with TLS or a bucket, where the kernel cannot send from files",
                help: "The longest file that is kept in memory; at most a sixteenth of --cache-size",
                ..CACHE
            }),
            coalesce: from.switch(Row {
                key: "cache.coalesce",
                flag: "coalesce",
                default: "true",
                help: "Load a file that is missing once for all who ask meanwhile",
                negated: "Load a file for each request that finds it missing, instead of once for all that ask \
                          meanwhile",
                ..CACHE
            }),
            sendfile_from: from.one(SIZE, Row {
                key: "sendfile-from",
                flag: "sendfile-from",
                default: "32KiB",
                help: "From this length on, files that are not kept in memory leave by sendfile instead of being \
                       read",
                ..CACHE
            }),
            open_files: from.one(whole(0, 1_000_000), Row {
                key: "open-files",
                flag: "open-files",
                default: "1024",
                help: "Files beyond --cache-max-file that stay open between requests; one that nobody asks for is \
                       closed after 10s",
                ..CACHE
            }),
            revalidate: from.one(TIME, Row {
                key: "cache.revalidate",
                flag: "revalidate",
                default: "1s",
                help: "How old the last comparison of a cached file with the disk may be; 0s compares every time",
                ..CACHE
            }),
            prewarm: from.switch(Row {
                key: "cache.prewarm",
                flag: "prewarm",
                default: "false",
                help: "Fill the cache before the first request is taken",
                ..CACHE
            }),
            compress_cpu: from.one(whole(1, 100_000), Row {
                key: "compress-cpu",
                flag: "compress-cpu",
                value: "PERCENT",
                default: "50",
                follows: Follows::CpuQuota,
                otherwise: "50, or half of a CPU quota if that is less",
                help: "How much of a core --compress may take, in percent; 200 is two cores",
                is_left_out: !cfg!(feature = "compress"),
                ..CACHE
            }),
            cache_dir: from.optional(PATH, Row {
                key: "cache.directory",
                flag: "cache-dir",
                value: "DIR",
                help: "Keep what --compress makes and objects of buckets in this directory, for the next start",
                more: "It is made for its owner alone, must not lie in a directory that is served, can be removed at any \
                       time, and several servers may share it: of objects the first has it to itself.",
                is_left_out: !cfg!(feature = "compress"),
                ..CACHE
            }),
            cache_dir_size: from.one(SIZE, Row {
                key: "cache.directory-size",
                flag: "cache-dir-size",
                default: "1GiB",
                help: "How much --cache-dir may hold, about, three quarters objects if there is a bucket; what was not \
                       used for the longest leaves first",
                is_left_out: !cfg!(feature = "compress"),
                ..CACHE
            }),
            max_connections: from.one(whole(1, 10_000_000), Row {
                key: "limits.max-connections",
                flag: "max-connections",
                default: "10000",
                help: "Connections of the whole server. For one more the longest idle one is closed; if none is \
                       idle, it is answered 503",
                ..LIMITS
            }),
            max_connections_per_client: from.optional(whole(1, 10_000_000), Row {
                key: "limits.max-connections-per-client",
                flag: "max-connections-per-client",
                otherwise: "half of --max-connections",
                help: "Connections of one client, an IPv4 address or an IPv6 network (/56); further ones are \
                       answered 503. Behind a proxy all are the proxy's",
                ..LIMITS
            }),
            connection_memory: from.one(SIZE, Row {
                key: "limits.connection-memory",
                flag: "connection-memory",
                default: "512MiB",
                follows: Follows::Memory(Share::Quarter),
                otherwise: "512MiB, or a quarter of the memory if that is less",
                help: "Memory for what connections hold: themselves, answers that are not taken yet, what is read \
                       ahead for them. It is shared fairly; the cache is not part of it",
                more: "The memory is the machine's, or what the cgroup of the process allows: the limit of a container, say.",
                ..LIMITS
            }),
            idle_timeout: from.one(TIME_LIMIT, Row {
                key: "limits.idle-timeout",
                flag: "idle-timeout",
                default: "60s",
                help: "How long a connection may wait for its next request",
                ..LIMITS
            }),
            header_timeout: from.one(TIME_LIMIT, Row {
                key: "limits.header-timeout",
                flag: "header-timeout",
                default: "10s",
                help: "How long the head of a request may take",
                ..LIMITS
            }),
            send_timeout: from.one(TIME_LIMIT, Row {
                key: "limits.send-timeout",
                flag: "send-timeout",
                default: "30s",
                help: "How long a client may take nothing of its answer",
                ..LIMITS
            }),
            min_rate: from.one(SIZE, Row {
                key: "limits.min-rate",
                flag: "min-rate",
                default: "128B",
                help: "What a client has to take of its answer each second; who takes less for --send-timeout is \
                       treated as one that takes nothing. 0: any byte will do",
                ..LIMITS
            }),
            answer_timeout: from.one(TIME_LIMIT, Row {
                key: "limits.answer-timeout",
                flag: "answer-timeout",
                default: "30s",
                help: "How long an answer may be waited for, on a slow disk say; then it is 503",
                ..LIMITS
            }),
            log: from.optional(PATH, Row {
                key: "log.file",
                flag: "log",
                help: "Log each request to this file, when its answer has ended; - is standard output",
                more: "SIGUSR1 opens the file anew, for who has renamed it. The log never holds up an answer: what a \
                       full disk or a stalled reader leaves no room for is dropped, counted and said.",
                ..LOG
            }),
            log_socket: from.optional(PATH, Row {
                key: "log.socket",
                flag: "log-socket",
                help: "Log each request to the Unix socket at this path, a stream that somebody listens on",
                ..LOG
            }),
            log_syslog: from.optional(TEXT, Row {
                key: "log.syslog",
                flag: "log-syslog",
                value: "DAEMON",
                help: "Log each request to syslog: local, by /dev/log, or an address and port that takes RFC 5424 \
                       over UDP",
                ..LOG
            }),
            log_format: from.one(choice(), Row {
                key: "log.format",
                flag: "log-format",
                value: "FORMAT",
                default: "combined",
                help: "What the lines of the access log look like",
                ..LOG
            }),
            log_sample: from.one(whole(1, 1_000_000_000), Row {
                key: "log.sample",
                flag: "log-sample",
                default: "1",
                help: "Log one in so many requests; answers from 500 on are logged in any case",
                ..LOG
            }),
            cache_status: from.switch(Row {
                key: "cache.status",
                flag: "cache-status",
                default: "false",
                help: "Say in each answer how the cache had it, by the field Cache-Status",
                ..CACHE
            }),
            admin: from.list(TEXT, Row {
                key: "admin.listen",
                flag: "admin",
                value: "ADDRESS",
                help: "Tell metrics, health and statistics at this address and port, with a live page, and take \
                       orders for the cache: 127.0.0.1:9090, say. Repeatable, or separated by commas",
                more: "An address that other machines reach needs a token, by --admin-token-file or the variable \
                       SALVER_ADMIN_TOKEN.",
                ..ADMIN
            }),
            metrics: from.optional(whole(0, 65535), Row {
                key: "admin.metrics",
                flag: "metrics",
                value: "PORT",
                help: "The same at this port of 127.0.0.1, which this machine alone reaches",
                ..ADMIN
            }),
            admin_socket: from.optional(PATH, Row {
                key: "admin.socket",
                flag: "admin-socket",
                help: "The same at a Unix socket at this path, which its owner alone may use",
                ..ADMIN
            }),
            admin_token_file: from.optional(PATH, Row {
                key: "admin.token-file",
                flag: "admin-token-file",
                help: "The file with the token that is wanted there, of 16 characters at least, as Authorization: \
                       Bearer",
                ..ADMIN
            }),
            admin_token: from.optional(TEXT, Row {
                key: "admin.token",
                flag: "admin-token",
                help: "The token itself; the command line cannot say it, as others on this machine could read it there",
                is_secret: true,
                is_off_command_line: true,
                ..ADMIN
            }),
            deploys: Deploys::read(from),
            trusted_proxies: from.list(TEXT, Row {
                key: "proxies.trusted",
                flag: "trusted-proxies",
                value: "NETWORK",
                help: "Believe proxies in this network who the client is: 10.0.0.0/8, say. Repeatable, or separated \
                       by commas",
                ..PROXIES
            }),
            forwarded_field: from.one(choice(), Row {
                key: "proxies.field",
                flag: "forwarded-field",
                value: "FIELD",
                default: "x-forwarded-for",
                help: "The field in which trusted proxies name the client, whom the access log has",
                ..PROXIES
            }),
            proxy_protocol: from.switch(Row {
                key: "proxies.protocol",
                flag: "proxy-protocol",
                default: "false",
                help: "Connections of trusted proxies begin with a header of the PROXY protocol, version 1 or 2, over \
                       TCP",
                ..PROXIES
            }),
            user: from.optional(TEXT, Row {
                key: "process.user",
                flag: "user",
                value: "NAME",
                otherwise: "whoever starts it",
                help: "Become this user when the ports are bound and the keys are read; there is no way back",
                more: "What is read again later has to be open to that user: renewed keys, the configuration file.",
                ..PROCESS
            }),
            group: from.optional(TEXT, Row {
                key: "process.group",
                flag: "group",
                value: "NAME",
                otherwise: "the groups of --user",
                help: "The one group that the process is in then, instead of those of --user",
                ..PROCESS
            }),
            sandbox: from.one(choice(), Row {
                key: "process.sandbox",
                flag: "sandbox",
                value: "WHEN",
                default: "auto",
                help: "Open no file but those of the sites, certificates, logs and this program, by Landlock",
                more: "Where the kernel has no Landlock, nothing is enforced, and `on` says so.",
                ..PROCESS
            }),
            sandbox_paths: from.list(PATH, Row {
                key: "process.sandbox-paths",
                flag: "sandbox-path",
                value: "DIR",
                help: "A directory that may be read besides, for roots that a reload adds. Repeatable",
                ..PROCESS
            }),
            pid_file: from.optional(PATH, Row {
                key: "process.pid-file",
                flag: "pid-file",
                help: "Write the number of the process to this file, and to FILE.status what came of each reload",
                ..PROCESS
            }),
            workers: from.optional(whole(1, MOST_WORKERS), Row {
                key: "workers",
                flag: "workers",
                follows: Follows::Cores,
                otherwise: "one per core, or per begun core of a CPU quota",
                help: "Threads that serve",
                ..RUNNING
            }),
            drain: from.one(TIME, Row {
                key: "drain",
                flag: "drain",
                default: "10s",
                help: "How long the end waits for answers under way; 0s cuts them",
                ..RUNNING
            }),
            statistics: from.switch(Row {
                key: "statistics",
                flag: "statistics",
                default: "false",
                help: "When the server ends, print what it has counted, hits and loads among it, as one line of \
                       JSON",
                ..RUNNING
            }),
            quiet: from.switch(Row {
                key: "quiet",
                flag: "quiet",
                short: Some('q'),
                default: "false",
                help: "Say only what needs attention",
                ..RUNNING
            }),
            verbose: from.switch(Row {
                key: "verbose",
                flag: "verbose",
                short: Some('v'),
                default: "false",
                help: "Say each request, if no log is named, and each time why a file is not served",
                ..RUNNING
            }),
            open: from.switch(Row {
                key: "open",
                flag: "open",
                default: "false",
                help: "Open the site in a browser once it is served",
                heading: "Development",
                ..ROW
            }),
        }
    }
}
