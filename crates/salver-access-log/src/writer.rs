//! The writer: one thread for all logs, and how a program starts it, asks of it and ends it.

mod control;
mod open_log;
mod thread;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use crate::bell::Bell;
use crate::log::{AccessLog, SharedLog};
use crate::notice::Notice;
use crate::output::Output;
use crate::settings::Settings;
use control::Control;
use open_log::OpenLog;
use thread::WriterThread;

/// The time that a writer which is dropped has for the last lines.
const LAST_LINES: Duration = Duration::from_secs(1);

/// How much later than it should the thread may say that it has ended.
const MARGIN: Duration = Duration::from_millis(100);

/// The writer of all logs of a program: a thread that sleeps while there is nothing to write.
#[derive(Debug)]
pub struct LogWriter {
    control: Arc<Control>,
    /// Closed when the thread ends; taken by who waits for that.
    ended: Option<Receiver<()>>,
}

/// A log that could not be opened; the operator mends it.
#[derive(Debug)]
pub struct OpenError {
    log: String,
    error: io::Error,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OpenError { log, error } = self;
        write!(f, "the access log cannot be written to {log}: {error}")
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

impl LogWriter {
    /// Starts the writer. `say` is called by its thread with what the operator should be told; it holds up all
    /// logs for as long as it takes.
    ///
    /// # Errors
    /// No thread or no descriptor could be had.
    pub fn start(say: impl FnMut(&Notice<'_>) + Send + 'static) -> io::Result<LogWriter> {
        let control = Arc::new(Control::new(Arc::new(Bell::new()?)));
        let (ends, ended) = channel();
        let of_thread = Arc::clone(&control);
        let thread = std::thread::Builder::new().name("salver-access".to_owned());
        thread.spawn(move || {
            WriterThread::new(of_thread, say).run();
            drop::<Sender<()>>(ends);
        })?;
        Ok(LogWriter {
            control,
            ended: Some(ended),
        })
    }

    /// Opens a log. Its lines reach its destination within 200 ms, as long as that takes them.
    ///
    /// # Errors
    /// The destination cannot be opened. Sockets are connected when there are lines: of them only a path that
    /// is too long is an error here.
    pub fn open(&self, settings: &Settings) -> Result<AccessLog, OpenError> {
        let log = settings.destination.to_string();
        let output = match Output::open(settings) {
            Ok(output) => output,
            Err(error) => return Err(OpenError { log, error }),
        };
        let shared = Arc::new(SharedLog::new(settings));
        let opened = OpenLog::new(log, Arc::clone(&shared), output);
        self.control.opened().push(opened);
        Ok(AccessLog::new(shared, &self.control.bell))
    }

    /// Opens all files anew, by name: for who has renamed them (`logrotate`). Lines that were logged before may
    /// go to the old files or to the new ones; none is lost, and none is divided.
    pub fn reopen(&self) {
        self.control.reopen.store(true, Ordering::Release);
        self.control.bell.ring();
    }

    /// Writes the lines that wait, and ends; true if it has ended. That takes `most` at the longest, and a tenth
    /// of a second. What was not written by then, because its destination did not take it, is counted as
    /// dropped, and so is what is logged afterwards. Only a disk that hangs can hold the writer beyond that; it
    /// is left to itself then.
    pub fn stop(mut self, most: Duration) -> bool {
        self.end(most)
    }

    fn end(&mut self, most: Duration) -> bool {
        let Some(ended) = self.ended.take() else {
            return true;
        };
        self.control.end_at(Instant::now() + most);
        self.control.bell.ring();
        ended.recv_timeout(most + MARGIN) == Err(RecvTimeoutError::Disconnected)
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        self.end(LAST_LINES);
    }
}
