//! Flags to settings of the engine and the server, checked once: what cannot work is refused here,
//! before a port is taken.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use salver_assets::source::Kind;
use salver_assets::strategy::{self, Transport};
use salver_assets::{Config, Conventions, DirectorySource, Mount, Patience, Source, Symlinks};
use salver_bench::environment::Environment;

use crate::failure::Failure;
use crate::listening::{Listening, listen};
use crate::mount_flag::MountFlag;
use crate::serve_flags::ServeFlags;
use crate::values::Spa;

/// Everything that `salver serve` needs to know.
#[derive(Debug)]
pub struct Settings {
    /// The engine's.
    pub engine: Config,
    /// The server's.
    pub server: salver_server::Settings,
    /// What is served where, for people; the root first.
    pub shown: Vec<Shown>,
    /// The certificates, for people, one line each.
    pub certificates: Vec<String>,
    /// What a person should know although nothing is wrong, one line each.
    pub warnings: Vec<String>,
    /// Whether the cache is filled at the start.
    pub prewarm: bool,
    /// Whether the engine's counters are printed at the end.
    pub statistics: bool,
    /// Whether only what needs attention is said.
    pub quiet: bool,
}

/// A directory or a file and where it appears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The path of its URL.
    pub prefix: String,
    /// Where it lies, absolute.
    pub path: PathBuf,
    /// The index that stands for the directory itself, if there is one.
    pub index: Option<String>,
    /// The file that answers unknown paths.
    pub fallback: Option<String>,
    /// Whether what it holds may be kept in memory, if there is a cache.
    pub cached: bool,
}

impl Settings {
    /// Checks the flags against each other and against the file system. Opens the directories and
    /// walks none.
    ///
    /// # Errors
    /// The first thing that cannot work, and what to do.
    pub fn from_flags(flags: &ServeFlags) -> Result<Self, Failure> {
        let mut engine = engine(flags)?;
        let (server, listening) = server(flags)?;
        let default = server.cache_max_file();
        engine.cache_max_file = flags.cache_max_file.unwrap_or(default);
        let mut settings = Settings {
            engine,
            server,
            shown: Vec::new(),
            certificates: listening.certificates,
            warnings: listening.warnings,
            prewarm: flags.prewarm && !flags.no_cache,
            statistics: flags.statistics,
            quiet: flags.quiet,
        };
        settings.warn_of_sizes(flags);
        settings.add_root(flags)?;
        for (name, mounts) in [
            ("--mount", &flags.mount),
            ("--mount-plain", &flags.mount_plain),
        ] {
            for mount in mounts {
                let added = settings.add_mount(mount, name == "--mount", flags);
                added.map_err(|failure| of_mount(name, mount, failure))?;
            }
        }
        Ok(settings)
    }

    fn warn_of_sizes(&mut self, flags: &ServeFlags) {
        if flags.no_cache {
            if flags.prewarm {
                self.warnings
                    .push("--prewarm does nothing together with --no-cache".to_owned());
            }
            return;
        }
        let memory = Environment::now([]).memory_bytes;
        if let Some(memory) = memory.filter(|memory| flags.cache_size > *memory) {
            self.warnings.push(format!(
                "--cache-size is more than the memory of this machine, {}: when it is used up, the \
                 system ends the server",
                size(memory)
            ));
        }
        let most = self.engine.keep_up_to();
        // What nobody asked for is no reason to warn, as long as small files are kept.
        let asked = flags.cache_max_file;
        if most < asked.unwrap_or(strategy::cache_max_file(Transport::KernelSends)) {
            self.warnings.push(format!(
                "files beyond {} are not kept in memory: --cache-max-file is more than a \
                 sixteenth of --cache-size",
                size(most)
            ));
        }
    }

    fn add_root(&mut self, flags: &ServeFlags) -> Result<(), Failure> {
        let path = absolute(&flags.path)?;
        let source = match kind(&path)? {
            Kind::Directory => open(&self.engine, &path, flags.symlinks.into())?,
            Kind::File => {
                let name = path.file_name().unwrap_or_default();
                return Err(Failure::Misused(format!(
                    "{path:?} is a file: give a directory, and for this one file --mount /{}=FILE",
                    name.display()
                )));
            }
            Kind::Other => return Err(neither(&path)),
        };
        let fallback = match &flags.spa {
            None | Some(Spa::Off) => None,
            Some(Spa::Index) => self.engine.index.first().cloned(),
            Some(Spa::File(file)) => Some(file.clone()),
        };
        if flags.path == Path::new(".") && !(flags.mount.is_empty() && flags.mount_plain.is_empty())
        {
            self.warnings.push(format!(
                "besides what is mounted, / shows the current directory, {path:?}: give another PATH if \
                 that is not meant"
            ));
        }
        self.add_tree("/", path, source, fallback, true);
        Ok(())
    }

    fn add_mount(
        &mut self,
        mount: &MountFlag,
        cached: bool,
        flags: &ServeFlags,
    ) -> Result<(), Failure> {
        let MountFlag { prefix, path } = mount;
        let path = absolute(path)?;
        match kind(&path)? {
            Kind::Directory => {
                let source = open(&self.engine, &path, flags.symlinks.into())?;
                self.add_tree(prefix, path, source, None, cached);
            }
            Kind::File => {
                let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
                    return Err(neither(&path));
                };
                let Some(name) = name.to_str() else {
                    return Err(Failure::Misused(format!(
                        "{path:?} has a name that is not UTF-8: mount its directory instead"
                    )));
                };
                // This one file was named by the person: if it is a link, it may lead anywhere.
                let source = open(&self.engine, parent, Symlinks::Any)?;
                let mount = Mount::file(prefix, Arc::new(source), name);
                self.add(
                    mount,
                    Shown {
                        prefix: prefix.clone(),
                        path,
                        index: None,
                        fallback: None,
                        cached,
                    },
                );
            }
            Kind::Other => return Err(neither(&path)),
        }
        Ok(())
    }

    /// Adds a tree and says what it will be like to visit it.
    fn add_tree(
        &mut self,
        prefix: &str,
        path: PathBuf,
        source: DirectorySource,
        fallback: Option<String>,
        cached: bool,
    ) {
        let has = |name: &String| has_file(&source, name);
        let index = self.engine.index.iter().find(|name| has(name)).cloned();
        let slash = if prefix.ends_with('/') { "" } else { "/" };
        if let Some(file) = fallback.as_ref().filter(|file| !has(file)) {
            self.warnings.push(format!(
                "{file} is not in {path:?}: unknown paths are answered 404 until it is"
            ));
        }
        if index.is_none() && fallback.as_ref().is_none_or(|file| !has(file)) {
            let names = self.engine.index.join(" or ");
            self.warnings.push(format!(
                "{prefix}{slash} is answered 404: no {names} in {path:?}"
            ));
        }
        let mount = Mount::tree(prefix, Arc::new(source));
        let mut mount = mount.with_conventions(Conventions::default());
        if let Some(file) = &fallback {
            mount = mount.with_fallback(file);
        }
        let shown = Shown {
            prefix: format!("{prefix}{slash}"),
            path,
            index,
            fallback,
            cached,
        };
        self.add(mount, shown);
    }

    /// Adds a mount as it is shown.
    fn add(&mut self, mount: Mount, shown: Shown) {
        self.engine.mounts.push(match shown.cached {
            true => mount,
            false => mount.without_cache(),
        });
        self.shown.push(shown);
    }
}

/// A failure that says which mount it is of.
fn of_mount(name: &str, mount: &MountFlag, failure: Failure) -> Failure {
    let MountFlag { prefix, path } = mount;
    let say = |text: String| {
        format!(
            "{name} {prefix}={}: {text}",
            path.to_string_lossy().escape_debug()
        )
    };
    match failure {
        Failure::Misused(text) => Failure::Misused(say(text)),
        Failure::Failed(text) => Failure::Failed(say(text)),
    }
}

/// A cache of fewer bytes holds no page of a site, only bookkeeping.
const LEAST_CACHE: u64 = 64 * 1024;

/// The least memory that connections can be served with, in bytes.
const LEAST_MEMORY: u64 = 1024 * 1024;

fn engine(flags: &ServeFlags) -> Result<Config, Failure> {
    if flags.connection_memory < LEAST_MEMORY {
        let text = "--connection-memory is too little for any connection: give 1MiB or more";
        return Err(Failure::Misused(text.to_owned()));
    }
    if !flags.no_cache && flags.cache_size < LEAST_CACHE {
        return Err(Failure::Misused(format!(
            "--cache-size of {} holds next to nothing: give 64KiB or more, or --no-cache to keep \
             nothing in memory",
            size(flags.cache_size)
        )));
    }
    Ok(Config {
        mounts: Vec::new(),
        index: flags.index.clone(),
        precompressed: flags.precompressed.0.clone(),
        cache_size: usize::try_from(flags.cache_size).unwrap_or(usize::MAX),
        sendfile_from: flags.sendfile_from,
        open_files: usize::try_from(flags.open_files).unwrap_or(usize::MAX),
        cache: !flags.no_cache,
        coalesce: !flags.no_coalesce,
        revalidate: flags.revalidate,
        dotfiles: flags.dotfiles,
        ..Config::default()
    })
}

/// The server's settings, and what a person is told of the addresses.
fn server(flags: &ServeFlags) -> Result<(salver_server::Settings, Listening), Failure> {
    let defaults = salver_server::Settings::default();
    if flags.tls.no_http1 && flags.tls.no_http2 {
        let text = "--no-http1 and --no-http2 leave nothing to speak over TCP: drop one of them";
        return Err(Failure::Misused(text.to_owned()));
    }
    let mut settings = salver_server::Settings {
        http1: !flags.tls.no_http1,
        http2: !flags.tls.no_http2,
        #[cfg(feature = "http3")]
        http3: !flags.tls.no_http3,
        workers: flags.workers.map_or(defaults.workers, usize::from),
        max_connections: usize::try_from(flags.max_connections).unwrap_or(usize::MAX),
        idle_timeout: flags.idle_timeout,
        header_timeout: flags.header_timeout,
        send_timeout: flags.send_timeout,
        min_rate: flags.min_rate,
        answer_timeout: flags.answer_timeout,
        max_connections_per_client: flags
            .max_connections_per_client
            .map(|most| usize::try_from(most).unwrap_or(usize::MAX)),
        connection_memory: flags.connection_memory,
        grace: flags.drain,
        ..defaults
    };
    let listening = listen(flags, &mut settings)?;
    Ok((settings, listening))
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| unusable(path, &error))
}

fn kind(path: &Path) -> Result<Kind, Failure> {
    let metadata = std::fs::metadata(path).map_err(|error| unusable(path, &error))?;
    Ok(if metadata.is_dir() {
        Kind::Directory
    } else if metadata.is_file() {
        Kind::File
    } else {
        Kind::Other
    })
}

fn open(engine: &Config, path: &Path, links: Symlinks) -> Result<DirectorySource, Failure> {
    // A directory can be named without the right to look up names in it.
    std::fs::metadata(path.join("."))
        .and_then(|_| engine.open_directory(path, links))
        .map_err(|error| unusable(path, &error))
}

/// Whether a request would find this file: by the same walk, under the same rules.
fn has_file(source: &DirectorySource, name: &str) -> bool {
    let wait = Patience::MayWait;
    let found = source
        .view(wait)
        .and_then(|view| view.stat(name.as_bytes(), wait));
    found.is_ok_and(|metadata| metadata.kind == Kind::File)
}

fn neither(path: &Path) -> Failure {
    Failure::Misused(format!(
        "{path:?} is neither a directory nor a file: give a directory to serve"
    ))
}

fn unusable(path: &Path, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Failure::Misused(format!(
            "{path:?} does not exist: give a directory or a file that is there"
        )),
        io::ErrorKind::InvalidInput => {
            Failure::Misused(format!("{path:?} is no path: give a directory to serve"))
        }
        io::ErrorKind::PermissionDenied => Failure::Failed(format!(
            "{path:?} cannot be entered: run salver as a user who may, or change its permissions"
        )),
        _ => Failure::Failed(format!("{path:?} cannot be opened: {error}")),
    }
}

/// A size for people.
pub(crate) fn size(bytes: u64) -> String {
    let text = bytesize::ByteSize(bytes).display().iec().to_string();
    text.replacen(".0 ", " ", 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_of_clients_are_as_the_flags_say() {
        let root = tempfile::tempdir().unwrap();
        let mut arguments = vec!["salver", "serve", root.path().to_str().unwrap()];
        arguments.extend([
            "--max-connections-per-client",
            "7",
            "--connection-memory",
            "3MiB",
        ]);
        arguments.extend(["--min-rate", "9B", "--answer-timeout", "11s"]);
        let cli =
            crate::flags::Cli::read(arguments, &crate::variables::Variables::default()).unwrap();
        let crate::flags::Command::Serve(flags) = cli.command else {
            panic!("another command")
        };
        let server = Settings::from_flags(&flags).unwrap().server;
        assert_eq!(server.max_connections_per_client, Some(7));
        assert_eq!((server.connection_memory, server.min_rate), (3 << 20, 9));
        assert_eq!(server.answer_timeout.as_secs(), 11);
    }

    #[cfg(feature = "self-signed")]
    #[test]
    fn who_asked_for_a_self_signed_certificate_quietly_hears_nothing_of_it() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("index.html"), "x").unwrap();
        let root = root.path().to_str().unwrap();
        for (more, expected) in [(&[][..], 1), (&["--quiet"], 0)] {
            let arguments = ["salver", "serve", root, "--tls-self-signed"];
            let cli = crate::flags::Cli::read(
                arguments.iter().chain(more),
                &crate::variables::Variables::default(),
            );
            let crate::flags::Command::Serve(flags) = cli.unwrap().command else {
                panic!("another command")
            };
            let warnings = Settings::from_flags(&flags).unwrap().warnings;
            assert_eq!(warnings.len(), expected, "{warnings:?}");
        }
    }

    #[test]
    fn what_is_shared_and_kept_is_as_the_flags_say() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().to_str().unwrap();
        let check = |flag: &str, coalesce: bool, cached: &[bool]| {
            let arguments = ["salver", "serve", root, flag];
            let cli = crate::flags::Cli::read(arguments, &crate::variables::Variables::default())
                .unwrap();
            let crate::flags::Command::Serve(flags) = cli.command else {
                panic!("{flag}")
            };
            let settings = Settings::from_flags(&flags).unwrap();
            assert_eq!(settings.engine.coalesce, coalesce, "{flag}");
            let found: Vec<_> = settings.shown.iter().map(|shown| shown.cached).collect();
            assert_eq!(found, cached, "{flag}");
        };
        check("--coalesce", true, &[true]);
        check("--no-coalesce", false, &[true]);
        check(&format!("--mount=/a={root}"), true, &[true, true]);
        check(&format!("--mount-plain=/a={root}"), true, &[true, false]);
    }

    #[test]
    fn what_the_system_refuses_says_who_must_act() {
        fn check(kind: io::ErrorKind, misused: bool, part: &str) {
            let failure = unusable(Path::new("/a b"), &kind.into());
            assert_eq!(matches!(failure, Failure::Misused(_)), misused, "{failure}");
            let line = failure.to_string();
            assert!(line.contains("\"/a b\"") && line.contains(part), "{line}");
        }
        check(io::ErrorKind::NotFound, true, "does not exist");
        check(io::ErrorKind::NotADirectory, true, "does not exist");
        check(io::ErrorKind::InvalidInput, true, "is no path");
        check(io::ErrorKind::PermissionDenied, false, "permissions");
        check(io::ErrorKind::StorageFull, false, "cannot be opened");
    }

    #[test]
    fn sizes_are_for_people() {
        fn check(bytes: u64, expected: &str) {
            assert_eq!(size(bytes), expected);
        }
        check(0, "0 B");
        check(1000, "1000 B");
        check(1 << 20, "1 MiB");
        check(3 << 19, "1.5 MiB");
        check(256 << 20, "256 MiB");
    }
}
