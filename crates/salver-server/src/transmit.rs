//! The only file that sends content: from memory with as few calls as possible, from files
//! without passing through memory where the bytes are at hand, through the loader where they are
//! not.

pub(crate) mod reading;

use std::io::{self, IoSlice};
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use salver_assets::strategy::{Residency, Situation, Transport, Way, way};
use salver_assets::{Content, FileContent, Patience, Piece};
use tokio::io::Interest;

use crate::context::Common;
use crate::deadlines::Deadline;
use crate::ending::report;
use crate::outbox::{Outbox, SLICES};
use crate::stream::Stream;

/// What one connection may send from a file before others have their turn, and how far residency
/// is asked about and read ahead at a time.
const WINDOW: u64 = 256 * 1024;

/// Sends what `outbox` holds, and what the stream itself holds back. `Pending` if the socket is
/// full: then its waker is registered.
///
/// # Errors
/// The socket's.
pub(crate) fn poll_send<S: Stream>(
    stream: &mut S,
    context: &mut Context<'_>,
    outbox: &mut Outbox,
) -> Poll<io::Result<()>> {
    while !outbox.is_empty() {
        let mut slices = [IoSlice::new(&[]); SLICES];
        let used = outbox.slices(&mut slices);
        let stream = Pin::new(&mut *stream);
        let sent = match slices.get(..used).unwrap_or_default() {
            // The kernel takes one buffer more cheaply than a list of one.
            [slice] => stream.poll_write(context, slice),
            slices => stream.poll_write_vectored(context, slices),
        };
        match sent {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
            Poll::Ready(Ok(count)) => outbox.advance(count),
        }
    }
    Pin::new(stream).poll_flush(context)
}

/// Sends what the socket had no room for before, as [`poll_send`], and watches whether the peer takes
/// it.
///
/// # Errors
/// The socket's, or `TimedOut` if the peer took nothing for too long; then that has been said.
pub(crate) fn poll_unsent<S: Stream>(
    common: &Common,
    stream: &mut S,
    deadline: &Deadline,
    context: &mut Context<'_>,
    unsent: &mut Outbox,
) -> Poll<io::Result<()>> {
    let before = unsent.left();
    let sent = poll_send(stream, context, unsent);
    let timeout = common.settings.send_timeout;
    if sent.is_pending() {
        if unsent.left() < before {
            expect_progress(stream, deadline, timeout);
        } else if has_stalled(stream, deadline, timeout) {
            let error = io::Error::from(io::ErrorKind::TimedOut);
            report(common, &error);
            return Poll::Ready(Err(error));
        }
    }
    sent
}

/// Sends `answer` at once as far as the socket takes it; the rest is appended to `outbox`, which is
/// empty. `Ready` if nothing is left, in the outbox or in the stream.
///
/// # Errors
/// The socket's.
pub(crate) fn send_or_keep<S: Stream>(
    stream: &mut S,
    context: &mut Context<'_>,
    answer: &[u8],
    outbox: &mut Outbox,
) -> Poll<io::Result<()>> {
    let sent = match Pin::new(&mut *stream).poll_write(context, answer) {
        Poll::Ready(sent) => sent?,
        Poll::Pending => 0,
    };
    match answer.get(sent..).filter(|rest| !rest.is_empty()) {
        Some(rest) => {
            outbox.write(|buffer| buffer.extend_from_slice(rest));
            poll_send(stream, context, outbox)
        }
        None => Pin::new(stream).poll_flush(context),
    }
}

/// From now on the peer has `timeout` to take something of what is being sent.
pub(crate) fn expect_progress<S: Stream>(stream: &S, deadline: &Deadline, timeout: Duration) {
    let queued = salver_os::unacknowledged(stream.tcp()).unwrap_or(0);
    deadline.set_with_queue(Instant::now() + timeout, queued);
}

/// Whether the peer took nothing in the time that it had. The kernel's queue is deep: to a slow
/// peer it may be too full for minutes to take more from us, but as long as it becomes shorter
/// the peer is there.
fn has_stalled<S: Stream>(stream: &S, deadline: &Deadline, timeout: Duration) -> bool {
    if !deadline.has_passed(Instant::now()) {
        return false;
    }
    let queued = salver_os::unacknowledged(stream.tcp()).unwrap_or(u64::MAX);
    let stalled = queued >= deadline.queued();
    if !stalled {
        expect_progress(stream, deadline, timeout);
    }
    stalled
}

/// One answer on its way.
pub(crate) struct Transmission<'a, S> {
    pub(crate) common: &'a Common,
    pub(crate) stream: &'a mut S,
    pub(crate) deadline: &'a Deadline,
    /// What goes before the content: earlier answers and the head.
    pub(crate) outbox: Outbox,
    /// Whether the peer has a deadline for taking something. Only who waits for the peer sets one:
    /// it costs two system calls.
    pub(crate) waits: bool,
}

impl<S: Stream> Transmission<'_, S> {
    /// Sends everything.
    ///
    /// # Errors
    /// `TimedOut` if the client took nothing for too long; `InvalidData` if a file is no longer
    /// what the head said; else the socket's or the file's error. After any of them the connection
    /// must end: the answer is not whole.
    pub(crate) async fn send(mut self, content: &Content) -> io::Result<()> {
        match content {
            Content::Empty => {}
            Content::Memory(bytes) => self.outbox.push(bytes),
            Content::File(file) => self.send_file(file).await?,
            Content::Parts(pieces) => {
                for piece in pieces {
                    match piece {
                        Piece::Memory(bytes) => self.outbox.push(bytes),
                        Piece::File(file) => self.send_file(file).await?,
                    }
                }
            }
        }
        self.flush().await
    }

    /// Sends the outbox.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub(crate) async fn flush(&mut self) -> io::Result<()> {
        std::future::poll_fn(|context| {
            let before = self.outbox.left();
            let result = poll_send(self.stream, context, &mut self.outbox);
            if self.outbox.left() < before {
                self.waits = false;
            }
            self.unless_late(context, result)
        })
        .await
    }

    async fn send_file(&mut self, content: &FileContent) -> io::Result<()> {
        let Range { mut start, end } = content.range;
        let mut transport = S::TRANSPORT;
        while start < end {
            let window = start..end.min(start.saturating_add(WINDOW));
            start = self.send_window(content, window, &mut transport).await?;
            if start < end {
                // The socket may take everything at once: others have their turn all the same.
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    /// Sends a window, or as much of its beginning as is sensible at once; how far it came.
    async fn send_window(
        &mut self,
        content: &FileContent,
        window: Range<u64>,
        transport: &mut Transport,
    ) -> io::Result<u64> {
        let mut at_hand = residency(self.common, content, &window);
        loop {
            let situation = Situation {
                residency: at_hand,
                transport: *transport,
                ..content.situation
            };
            match way(&situation) {
                Way::Sendfile => {
                    self.flush_ahead().await?;
                    if self.send_by_kernel(content, window.clone()).await? {
                        return Ok(window.end);
                    }
                    *transport = Transport::PassesThrough;
                }
                Way::Copy => match content.read_resident(&window)? {
                    Some(bytes) => {
                        self.outbox.push(&bytes);
                        self.flush().await?;
                        return Ok(window.end);
                    }
                    None => at_hand = Residency::Unknown,
                },
                Way::BringIn => {
                    self.flush().await?;
                    let loader = &self.common.loader;
                    loader.bring_in(content, window.clone()).await?;
                    at_hand = match residency(self.common, content, &window) {
                        Residency::Resident => Residency::Resident,
                        Residency::Cold | Residency::Unknown => Residency::Unknown,
                    };
                }
                // What was to be read whole is, window by window.
                Way::Elsewhere | Way::Read | Way::Memory => {
                    self.flush().await?;
                    let room = self.common.passing.take(window.end - window.start);
                    let window = window.start..window.start + room.length();
                    let bytes = self.common.loader.read(content, window.clone()).await?;
                    self.outbox.push(&bytes);
                    self.flush().await?;
                    return Ok(window.end);
                }
            }
        }
    }

    /// Sends the outbox in such a way that it leaves with what follows.
    async fn flush_ahead(&mut self) -> io::Result<()> {
        let mut slices = [IoSlice::new(&[]); SLICES];
        if let (1, [head, ..]) = (self.outbox.slices(&mut slices), &slices) {
            let send = || salver_os::send_more(self.stream.tcp(), head);
            match self.stream.tcp().try_io(Interest::WRITABLE, send) {
                Ok(count) => self.outbox.advance(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        if self.outbox.is_empty() {
            Ok(())
        } else {
            self.flush().await
        }
    }

    /// `false` if the kernel cannot send from this file; then nothing of the window was sent.
    async fn send_by_kernel(
        &mut self,
        content: &FileContent,
        window: Range<u64>,
    ) -> io::Result<bool> {
        let mut at = window.start;
        while at < window.end {
            let count = usize::try_from(window.end - at).unwrap_or(usize::MAX);
            let send = || salver_os::send_file(self.stream.tcp(), &*content.file, at, count);
            match self.stream.tcp().try_io(Interest::WRITABLE, send) {
                // The file has become shorter: never pad.
                Ok(0) => return Err(io::ErrorKind::InvalidData.into()),
                Ok(count) => {
                    at = at.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
                    self.waits = false;
                    // Any time can have passed since the last look, and what the kernel was given
                    // just now counts as well: the last bytes must not complete a mixture.
                    content.check(Patience::MustNotWait)?;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    std::future::poll_fn(|context| {
                        let ready = self.stream.tcp().poll_write_ready(context);
                        self.unless_late(context, ready)
                    })
                    .await?;
                }
                Err(error) if error.kind() == io::ErrorKind::Unsupported && at == window.start => {
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn unless_late(
        &mut self,
        context: &Context<'_>,
        result: Poll<io::Result<()>>,
    ) -> Poll<io::Result<()>> {
        if result.is_pending() {
            self.deadline.register(context);
            let timeout = self.common.settings.send_timeout;
            if !self.waits {
                self.waits = true;
                expect_progress(self.stream, self.deadline, timeout);
            } else if has_stalled(self.stream, self.deadline, timeout) {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
        }
        result
    }
}

/// What is known of a window without waiting.
fn residency(common: &Common, content: &FileContent, window: &Range<u64>) -> Residency {
    if common.settings.check_residency {
        content.residency(window)
    } else {
        Residency::Resident
    }
}
