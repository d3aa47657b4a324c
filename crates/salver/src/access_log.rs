//! Settings for the access log to those of the log, and the thread that writes it.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::Path;

use salver_access_log::{
    AccessLog, Destination, Format, LogWriter, Notice, Sampling, Settings, Statistics, Syslog,
};
use salver_config::Server;
use salver_config::values::LogFormat;

use crate::failure::Failure;

/// The settings of the access log; `None` without one.
///
/// # Errors
/// Settings that cannot be meant.
pub(crate) fn log_settings(server: &Server) -> Result<Option<Settings>, Failure> {
    let named = [
        server.log.is_some().then(|| server.log.name()),
        server
            .log_socket
            .is_some()
            .then(|| server.log_socket.name()),
        server
            .log_syslog
            .is_some()
            .then(|| server.log_syslog.name()),
    ];
    let named: Vec<String> = named.into_iter().flatten().collect();
    if let [first, second, ..] = &*named {
        return Err(Failure::Misused(format!(
            "{first} and {second} are two logs: give one of them"
        )));
    }
    let destination = if let Some(path) = &*server.log {
        file(path, &server.log.name())?
    } else if let Some(path) = &*server.log_socket {
        Destination::UnixStream(path.clone())
    } else if let Some(daemon) = &*server.log_syslog {
        Destination::Syslog(syslog(daemon, &server.log_syslog.name())?)
    } else if *server.verbose {
        Destination::StandardError
    } else {
        return Ok(None);
    };
    Ok(Some(Settings {
        format: match *server.log_format {
            LogFormat::Common => Format::Common,
            LogFormat::Combined => Format::Combined,
            LogFormat::Extended => Format::Extended,
            LogFormat::Json => Format::Json,
        },
        sampling: Sampling {
            one_in: NonZeroU32::new(*server.log_sample).unwrap_or(NonZeroU32::MIN),
            ..Sampling::default()
        },
        ..Settings::new(destination)
    }))
}

/// The file at a path, in a directory that is there.
fn file(path: &Path, name: &str) -> Result<Destination, Failure> {
    if path.file_name().is_none_or(|name| name == "-") {
        return match path.file_name() {
            Some(_) => Ok(Destination::StandardOutput),
            None => Err(Failure::Misused(format!(
                "{name} {path:?} is no file: give one"
            ))),
        };
    }
    let directory = match path.parent() {
        None => Path::new("."),
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
    };
    if !directory.is_dir() {
        return Err(Failure::Misused(format!(
            "{name} {path:?}: there is no directory {directory:?}: make it, or log elsewhere"
        )));
    }
    if path.is_dir() {
        return Err(Failure::Misused(format!(
            "{name} {path:?} is a directory: give a file in it"
        )));
    }
    Ok(Destination::File(path.to_owned()))
}

fn syslog(daemon: &str, name: &str) -> Result<Syslog, Failure> {
    match (daemon, daemon.parse::<SocketAddr>()) {
        ("local", _) => Ok(Syslog::local()),
        (_, Ok(address)) => Ok(Syslog::udp(address)),
        (_, Err(_)) => Err(Failure::Misused(format!(
            "{name} {}: give local, or an address with its port such as 192.0.2.1:514",
            daemon.escape_debug()
        ))),
    }
}

/// The access log of a server that runs, and the thread that writes it: one for all logs, the first of which starts it.
#[derive(Debug, Default)]
pub(crate) struct Logs {
    writer: Option<LogWriter>,
    current: Option<AccessLog>,
}

impl Logs {
    /// Opens a log beside that which there is, if there is to be one. What the operator should be told of it goes to the
    /// program's own log.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(crate) fn open(
        &mut self,
        settings: Option<&Settings>,
    ) -> Result<Option<AccessLog>, Failure> {
        let Some(settings) = settings else {
            return Ok(None);
        };
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => none.insert(start_writer()?),
        };
        let opened = writer.open(settings);
        let log = opened.map_err(|error| Failure::Failed(error.to_string()))?;
        Ok(Some(log))
    }

    /// The log, for a server.
    #[cfg(target_os = "linux")]
    pub(crate) fn current(&self) -> Option<AccessLog> {
        self.current.clone()
    }

    /// Notes the log of the server. That before is closed when the last answer that began by it has ended.
    pub(crate) fn set_current(&mut self, log: Option<AccessLog>) {
        self.current = log;
    }

    /// Opens its file anew.
    #[cfg(target_os = "linux")]
    pub(crate) fn reopen(&self) {
        if let Some(writer) = &self.writer {
            writer.reopen();
        }
    }

    /// Writes the last lines; returns what became of all of the log.
    pub(crate) fn end(self) -> Option<Statistics> {
        if let Some(writer) = self.writer {
            writer.stop(LAST_LINES);
        }
        self.current.map(|log| log.statistics())
    }
}

fn start_writer() -> Result<LogWriter, Failure> {
    let say = |notice: &Notice<'_>| match notice {
        Notice::WritesAgain { .. } => tracing::info!("{notice}"),
        _ => tracing::warn!("{notice}"),
    };
    LogWriter::start(say)
        .map_err(|error| Failure::Failed(format!("the access log cannot be begun: {error}")))
}

/// The time for the last lines to be written.
const LAST_LINES: std::time::Duration = std::time::Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn daemons_of_syslog() {
        let check = |text: &str, is_right: bool| {
            assert_eq!(syslog(text, "--log-syslog").is_ok(), is_right, "{text}");
        };
        check("local", true);
        check("192.0.2.1:514", true);
        check("[::1]:514", true);
        check("localhost", false);
        check("", false);
    }

    #[test]
    fn files_are_in_directories() {
        let folder = tempfile::tempdir().unwrap();
        let check = |name: &str, part: &str| {
            let said = file(&folder.path().join(name), "--log");
            let said = said.map_or_else(|failure| failure.to_string(), |it| it.to_string());
            assert!(said.contains(part), "{said}");
        };
        check("access.log", "access.log");
        check("no/access.log", "there is no directory");
        check(".", "is a directory");
        assert_eq!(
            file(Path::new("-"), "--log"),
            Ok(Destination::StandardOutput)
        );
        assert!(file(Path::new("a.log"), "--log").is_ok());
    }
}
