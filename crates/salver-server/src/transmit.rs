//! Sending over TCP, the only file that does: from memory with as few calls as possible, from files
//! without passing through memory where the bytes are at hand, through the loader where they are
//! not.

pub(crate) mod reading;

use std::io::{self, IoSlice};
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use salver_assets::reading::Disk;
use salver_assets::strategy::{Residency, Situation, Transport, Way, way};
use salver_assets::{Content, FileContent, Patience, Piece};
use tokio::io::Interest;

use crate::context::{Common, Context as Loop};
use crate::deadlines::Deadline;
use crate::memory_budget::{Account, Charge};
use crate::outbox::{Outbox, SLICES};
use crate::report::report;
use crate::seats::Seat;
use crate::send_pace::SendPace;
use crate::stream::Stream;
use crate::transmit::reading::Loading;

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

/// What the socket of a connection had no room for.
pub(crate) struct Unsent {
    outbox: Outbox,
    pace: SendPace,
    _charge: Charge,
}

impl Unsent {
    /// What `outbox` still holds; it keeps its memory. The client has to take it at its pace.
    pub(crate) fn of<S: Stream>(
        outbox: &mut Outbox,
        common: &Common,
        account: &Arc<Account>,
        stream: &mut S,
        deadline: &Deadline,
    ) -> Box<Self> {
        let outbox = outbox.take_rest();
        let held = outbox.memory() + stream.limit_buffer(account);
        Box::new(Unsent {
            outbox,
            pace: SendPace::new(stream, deadline, &common.settings),
            _charge: account.charge(held),
        })
    }

    /// Sends it, as [`poll_send`], and watches whether the client takes it.
    ///
    /// # Errors
    /// The socket's, or `TimedOut` if the client took too little for too long; then that has been said.
    pub(crate) fn poll<S: Stream>(
        &mut self,
        common: &Common,
        stream: &mut S,
        deadline: &Deadline,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let before = self.outbox.left();
        let sent = poll_send(stream, context, &mut self.outbox);
        self.pace.accept(before - self.outbox.left());
        if sent.is_pending() && self.pace.is_late(stream, deadline, &common.settings) {
            let error = io::Error::from(io::ErrorKind::TimedOut);
            report(common, &error);
            return Poll::Ready(Err(error));
        }
        sent
    }
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

/// One answer on its way.
pub(crate) struct Transmission<'a, S> {
    pub(crate) shared: &'a Loop,
    pub(crate) seat: &'a Seat,
    pub(crate) stream: &'a mut S,
    pub(crate) deadline: &'a Deadline,
    /// What goes before the content: earlier answers and the head.
    pub(crate) outbox: Outbox,
    /// While the client is waited for: looking at its pace costs system calls.
    pub(crate) pace: Option<SendPace>,
    /// What is held while the client is waited for.
    pub(crate) charge: Charge,
}

impl<'a, S: Stream> Transmission<'a, S> {
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
            let sent = before - self.outbox.left();
            self.unless_late(context, result, sent)
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
                self.shared.turns.wait(self.seat.client).await;
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
        let mut at_hand = residency(&self.shared.common, content, &window);
        loop {
            let situation = Situation {
                residency: at_hand,
                transport: *transport,
                ..content.situation
            };
            match way(&situation) {
                Way::Sendfile => {
                    self.flush_ahead().await?;
                    let at = self.send_by_kernel(content, window.clone()).await?;
                    if at < window.end {
                        *transport = Transport::PassesThrough;
                    }
                    if at > window.start {
                        return Ok(at);
                    }
                }
                Way::Copy => {
                    let disk = self.disk();
                    let most = usize::try_from(window.end - window.start).unwrap_or(usize::MAX);
                    let most = u64::try_from(disk.room(most)).unwrap_or(WINDOW);
                    let window = window.start..window.end.min(window.start.saturating_add(most));
                    match content.read_resident(&window)? {
                        Some(bytes) => {
                            let bytes = disk.keep(bytes);
                            self.outbox.push_shared(bytes);
                            self.flush().await?;
                            return Ok(window.end);
                        }
                        None => at_hand = Residency::Unknown,
                    }
                }
                Way::Prefetch => {
                    self.flush().await?;
                    let loader = &self.shared.common.loader;
                    loader.bring_in(content, window.clone()).await?;
                    at_hand = match residency(&self.shared.common, content, &window) {
                        Residency::Resident => Residency::Resident,
                        Residency::Cold | Residency::Unknown => Residency::Unknown,
                    };
                }
                // What was to be read whole is, window by window.
                Way::Offload | Way::Read | Way::Memory => {
                    self.flush().await?;
                    let (length, read) = self.disk().read(content, window.clone());
                    let bytes = read.await?;
                    self.outbox.push_shared(bytes);
                    self.flush().await?;
                    return Ok(window.end.min(window.start.saturating_add(length)));
                }
            }
        }
    }

    fn disk(&self) -> Loading<'a> {
        Loading {
            common: &self.shared.common,
            account: &self.seat.account,
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

    /// How far the kernel sent from this file: nothing of the window if it cannot, and part of it if the rest
    /// has to pass through the process.
    async fn send_by_kernel(
        &mut self,
        content: &FileContent,
        window: Range<u64>,
    ) -> io::Result<u64> {
        let mut at = window.start;
        while at < window.end {
            let count = usize::try_from(window.end - at).unwrap_or(usize::MAX);
            let send = || salver_os::send_file(self.stream.tcp(), &*content.file, at, count);
            match self.stream.tcp().try_io(Interest::WRITABLE, send) {
                // The file has become shorter: never pad.
                Ok(0) => return Err(io::ErrorKind::InvalidData.into()),
                Ok(count) => {
                    at = at.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
                    if let Some(pace) = &mut self.pace {
                        pace.accept(count);
                    }
                    // What the kernel was given just now counts as well: the last bytes must not complete
                    // a mixture.
                    content.check(Patience::MustNotWait)?;
                    if content.is_doubtful() {
                        self.shared.common.loader.read(content, at..at).await?;
                        return Ok(at);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    std::future::poll_fn(|context| {
                        let ready = self.stream.tcp().poll_write_ready(context);
                        self.unless_late(context, ready, 0)
                    })
                    .await?;
                    // Any time can have passed since the last look.
                    content.check(Patience::MustNotWait)?;
                    if content.is_doubtful() {
                        return Ok(at);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Unsupported && at == window.start => {
                    return Ok(at);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(at)
    }

    fn unless_late(
        &mut self,
        context: &Context<'_>,
        result: Poll<io::Result<()>>,
        sent: usize,
    ) -> Poll<io::Result<()>> {
        if result.is_pending() {
            self.deadline.register(context);
            let settings = &self.shared.common.settings;
            let pace = self.pace.get_or_insert_with(|| {
                let buffered = self.stream.limit_buffer(&self.seat.account);
                self.charge.set(self.outbox.memory() + buffered);
                SendPace::new(self.stream, self.deadline, settings)
            });
            pace.accept(sent);
            if pace.is_late(self.stream, self.deadline, settings) {
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
