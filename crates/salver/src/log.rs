//! The log: lines on standard error, written by a thread of their own.
//!
//! A terminal that is held or a pipe that nobody reads must hold up neither the loops that log nor
//! the start or the end of the process. So a line waits in a bounded queue, and is dropped and
//! counted when that is full; and the end waits for the last ones for a second at most.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tracing::Level;

/// Lines that may wait to be written.
const QUEUE: usize = 1024;

/// How long the end of the process waits for the last lines.
const LAST_LINES: Duration = Duration::from_secs(1);

/// How often the end looks whether there is room in the queue.
const LOOK: Duration = Duration::from_millis(10);

static SENDER: OnceLock<Sender> = OnceLock::new();
/// The end of the queue, until the thread is there that writes.
static WAITING: Mutex<Option<Receiver<Message>>> = Mutex::new(None);
static LOST: AtomicU64 = AtomicU64::new(0);

enum Message {
    Line(Vec<u8>),
    /// To be answered when everything before it is written.
    Flush(SyncSender<()>),
}

#[derive(Clone)]
struct Sender(SyncSender<Message>);

impl Write for Sender {
    /// The formatter gives a whole line at once.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.0.try_send(Message::Line(line.to_vec())).is_err() {
            LOST.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Takes lines from now on, once per process; with `quiet` only warnings and errors are written. They wait for
/// [`start`].
pub fn prepare(quiet: bool) {
    let (sender, receiver) = sync_channel(QUEUE);
    let sender = Sender(sender);
    if SENDER.set(sender.clone()).is_err() {
        return;
    }
    *waiting() = Some(receiver);
    // https://no-color.org: set and not empty.
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let log = tracing_subscriber::fmt()
        .with_max_level(if quiet { Level::WARN } else { Level::INFO })
        .with_target(false)
        .with_ansi(!no_color && io::stderr().is_terminal())
        .with_writer(move || sender.clone())
        .finish();
    // Fails only if there is one already: then that one is what the caller wants.
    let _ = tracing::subscriber::set_global_default(log);
}

/// Starts the thread that writes: after what has to be done while there is one thread alone.
///
/// # Errors
/// No thread could be had.
pub fn start() -> io::Result<()> {
    let Some(receiver) = waiting().take() else {
        return Ok(());
    };
    let thread = std::thread::Builder::new().name("salver-log".to_owned());
    thread.spawn(move || write_lines(&receiver, &mut io::stderr()))?;
    Ok(())
}

fn waiting() -> MutexGuard<'static, Option<Receiver<Message>>> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes lines for a person as they are. Before the log is started they go out at once.
pub fn say(text: &str) {
    let mut lines = text.as_bytes().to_vec();
    lines.push(b'\n');
    // Neither can fail in a way that anybody could be told of.
    let _ = match SENDER.get() {
        Some(sender) => sender.clone().write_all(&lines),
        None => io::stderr().write_all(&lines),
    };
}

/// Waits a moment for lines that have not been written yet.
pub fn flush() {
    // Of a process that ends before it has a thread for that.
    let _ = start();
    if let Some(sender) = SENDER.get() {
        flush_within(LAST_LINES, &sender.0);
    }
}

/// Waits until everything that is in the queue has been written, but no longer than `most`.
fn flush_within(most: Duration, sender: &SyncSender<Message>) {
    let end = Instant::now() + most;
    let (done, written) = sync_channel(1);
    let mut message = Message::Flush(done);
    while let Err(TrySendError::Full(again)) = sender.try_send(message) {
        if Instant::now() >= end {
            return;
        }
        std::thread::sleep(LOOK);
        message = again;
    }
    let _ = written.recv_timeout(end.saturating_duration_since(Instant::now()));
}

fn write_lines(messages: &Receiver<Message>, to: &mut impl Write) {
    for message in messages {
        match message {
            Message::Line(line) => {
                // There is nobody to tell if this fails.
                let _ = to.write_all(&line);
                let lost = LOST.swap(0, Ordering::Relaxed);
                if lost > 0 {
                    let _ = writeln!(to, "salver: {lost} lines of the log were lost here");
                }
            }
            Message::Flush(done) => {
                let _ = done.try_send(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_loses_lines_and_says_how_many() {
        let (sender, receiver) = sync_channel(2);
        let mut sender = Sender(sender);
        for line in ["one\n", "two\n", "three\n", "four\n"] {
            assert_eq!(sender.write(line.as_bytes()).unwrap(), line.len());
        }
        drop(sender);
        let mut written = Vec::new();
        write_lines(&receiver, &mut written);
        let expected = "one\nsalver: 2 lines of the log were lost here\ntwo\n";
        assert_eq!(String::from_utf8(written).unwrap(), expected);
    }

    #[test]
    fn the_end_waits_for_the_last_lines_and_not_for_ever() {
        let (sender, receiver) = sync_channel(1);
        sender.try_send(Message::Line(b"last\n".to_vec())).unwrap();
        // Nobody writes: neither the queue's room nor the answer comes.
        flush_within(Duration::ZERO, &sender);
        flush_within(LOOK * 2, &sender);
        let writer = std::thread::spawn(move || {
            let mut written = Vec::new();
            write_lines(&receiver, &mut written);
            written
        });
        flush_within(Duration::from_secs(60), &sender);
        drop(sender);
        assert_eq!(writer.join().unwrap(), b"last\n");
    }
}
