//! Sending over TCP, the only file that does: from memory with as few calls as possible, from files without passing
//! through memory where the page cache has the bytes, through the loader where it has not.

pub(crate) mod loader_disk;

use std::io::{self, IoSlice};
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use salver_assets::reading::Disk;
use salver_assets::strategy::{Residency, Situation, Transport, Way, way};
use salver_assets::{Content, FileContent, Patience, Piece};
use tokio::io::Interest;

use crate::access_log::ConnectionLog;
use crate::byte_stream::ByteStream;
use crate::context::{ServerContext, WorkerContext};
use crate::deadlines::Deadline;
use crate::memory_budget::{Account, Charge};
use crate::report::report;
use crate::seats::Seat;
use crate::send_buffer::{SLICES, SendBuffer};
use crate::send_pace::SendPace;
use crate::transmit::loader_disk::LoaderDisk;

/// The bytes that one connection may send from a file before others have their turn, and for which residency is
/// checked, or bytes are read ahead, at a time.
const WINDOW: u64 = 256 * 1024;

/// Sends the bytes of `send_buffer`, and those that the stream itself holds. `Pending` if the socket is full: then
/// the waker is registered.
///
/// # Errors
/// The socket's.
pub(crate) fn poll_send<S: ByteStream>(
    stream: &mut S,
    context: &mut Context<'_>,
    send_buffer: &mut SendBuffer,
) -> Poll<io::Result<()>> {
    while !send_buffer.is_empty() {
        let sent = match send_buffer.only_slice() {
            // The kernel takes one buffer more cheaply than a list of one.
            Some(slice) => Pin::new(&mut *stream).poll_write(context, slice),
            None => poll_write_slices(stream, context, send_buffer),
        };
        match sent {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
            Poll::Ready(Ok(count)) => send_buffer.advance(count),
        }
    }
    Pin::new(stream).poll_flush(context)
}

/// Writes the bytes of `send_buffer` from where they lie.
// Apart, as the slices are half a KiB to fill.
#[inline(never)]
fn poll_write_slices<S: ByteStream>(
    stream: &mut S,
    context: &mut Context<'_>,
    send_buffer: &SendBuffer,
) -> Poll<io::Result<usize>> {
    let mut slices = [IoSlice::new(&[]); SLICES];
    let used = send_buffer.slices(&mut slices);
    let stream = Pin::new(&mut *stream);
    match slices.get(..used).unwrap_or_default() {
        [slice] => stream.poll_write(context, slice),
        slices => stream.poll_write_vectored(context, slices),
    }
}

/// The unsent bytes of a connection, for which its socket had no room.
pub(crate) struct Unsent {
    send_buffer: SendBuffer,
    pace: SendPace,
    _charge: Charge,
}

impl Unsent {
    /// Takes the unsent bytes of `send_buffer`, which keeps its memory. The client has to take them fast enough.
    pub(crate) fn of<S: ByteStream>(
        send_buffer: &mut SendBuffer,
        common: &ServerContext,
        account: &Arc<Account>,
        stream: &mut S,
        deadline: &Deadline,
    ) -> Box<Self> {
        let send_buffer = send_buffer.take_unsent();
        let held = send_buffer.memory() + stream.limit_buffer(account);
        Box::new(Unsent {
            send_buffer,
            pace: SendPace::new(stream, deadline, &common.settings),
            _charge: account.charge(held),
        })
    }

    /// The number of bytes that have not been sent.
    pub(crate) fn left(&self) -> usize {
        self.send_buffer.left()
    }

    /// Sends the bytes, as [`poll_send`], and checks the pace of the client.
    ///
    /// # Errors
    /// The socket's, or `TimedOut` if the client took too little for too long, which has been logged.
    pub(crate) fn poll<S: ByteStream>(
        &mut self,
        common: &ServerContext,
        stream: &mut S,
        deadline: &Deadline,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let before = self.send_buffer.left();
        let sent = poll_send(stream, context, &mut self.send_buffer);
        self.pace.accept(before - self.send_buffer.left());
        if sent.is_pending() && self.pace.is_late(stream, deadline, &common.settings) {
            let error = io::Error::from(io::ErrorKind::TimedOut);
            report(common, &error);
            return Poll::Ready(Err(error));
        }
        sent
    }
}

/// Sends `answer` at once as far as the socket takes it; the rest is appended to `send_buffer`, which is empty.
/// `Ready` if nothing is left, in the buffer or in the stream.
///
/// # Errors
/// The socket's.
pub(crate) fn send_or_keep<S: ByteStream>(
    stream: &mut S,
    context: &mut Context<'_>,
    answer: &[u8],
    send_buffer: &mut SendBuffer,
) -> Poll<io::Result<()>> {
    let sent = match Pin::new(&mut *stream).poll_write(context, answer) {
        Poll::Ready(sent) => sent?,
        Poll::Pending => 0,
    };
    match answer.get(sent..).filter(|rest| !rest.is_empty()) {
        Some(rest) => {
            send_buffer.write(|buffer| buffer.extend_from_slice(rest));
            poll_send(stream, context, send_buffer)
        }
        None => Pin::new(stream).poll_flush(context),
    }
}

/// The transmission of one answer.
pub(crate) struct Transmission<'a, S> {
    pub(crate) shared: &'a WorkerContext,
    pub(crate) seat: &'a Seat,
    pub(crate) stream: &'a mut S,
    pub(crate) deadline: &'a Deadline,
    /// The bytes before the content: earlier answers and the head.
    pub(crate) send_buffer: SendBuffer,
    /// The pace of the client, only while it is waited for: checking it costs system calls.
    pub(crate) pace: Option<SendPace>,
    /// The memory that is held while the client is waited for.
    pub(crate) charge: Charge,
    /// The access log, which counts what is sent.
    pub(crate) log: Option<&'a ConnectionLog>,
}

impl<'a, S: ByteStream> Transmission<'a, S> {
    /// Sends the buffer and the content.
    ///
    /// # Errors
    /// `TimedOut` if the client took nothing for too long; `InvalidData` if a file is no longer
    /// what the head said; else the socket's or the file's error. After any of them the connection
    /// must end: the answer is not whole.
    pub(crate) async fn send(mut self, content: &Content) -> io::Result<()> {
        match content {
            Content::Empty => {}
            Content::Memory(bytes) => self.send_buffer.push(bytes),
            Content::File(file) => self.send_file(file).await?,
            Content::Parts(pieces) => {
                for piece in pieces {
                    match piece {
                        Piece::Memory(bytes) => self.send_buffer.push(bytes),
                        Piece::File(file) => self.send_file(file).await?,
                    }
                }
            }
        }
        self.flush().await
    }

    /// Sends the buffer.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub(crate) async fn flush(&mut self) -> io::Result<()> {
        std::future::poll_fn(|context| {
            let before = self.send_buffer.left();
            let result = poll_send(self.stream, context, &mut self.send_buffer);
            let sent = before - self.send_buffer.left();
            self.count(sent);
            self.check_pace(context, result, sent)
        })
        .await
    }

    /// Counts bytes for the access log.
    fn count(&self, sent: usize) {
        if let Some(log) = self.log {
            log.count(sent);
        }
    }

    async fn send_file(&mut self, content: &FileContent) -> io::Result<()> {
        let Range { mut start, end } = content.range;
        let mut transport = S::TRANSPORT;
        while start < end {
            let window = start..end.min(start.saturating_add(WINDOW));
            start = self.send_window(content, window, &mut transport).await?;
            if start < end {
                // Even if the socket takes everything at once others have their turn.
                tokio::task::yield_now().await;
                self.shared.turns.wait_for_window(self.seat.client).await;
            }
        }
        Ok(())
    }

    /// Sends a window, or as much of its beginning as is sensible at once; returns the end of the part sent.
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
                            self.send_buffer.push_shared(bytes);
                            self.flush().await?;
                            return Ok(window.end);
                        }
                        None => at_hand = Residency::Unknown,
                    }
                }
                Way::Prefetch => {
                    self.flush().await?;
                    let loader = &self.shared.common.loader;
                    loader.prefetch(content, window.clone()).await?;
                    // Several may have come at the same moment.
                    self.shared.turns.wait_for_window(self.seat.client).await;
                    at_hand = match content.residency(&window, false) {
                        Residency::Resident => Residency::Resident,
                        Residency::Cold | Residency::Unknown => Residency::Unknown,
                    };
                }
                // Content that was to be read whole is read window by window.
                Way::Offload | Way::Read | Way::Memory => {
                    self.flush().await?;
                    let (length, read) = self.disk().read(content, window.clone());
                    let bytes = read.await?;
                    self.send_buffer.push_shared(bytes);
                    self.flush().await?;
                    return Ok(window.end.min(window.start.saturating_add(length)));
                }
            }
        }
    }

    fn disk(&self) -> LoaderDisk<'a> {
        LoaderDisk {
            common: &self.shared.common,
            account: &self.seat.account,
        }
    }

    /// Sends the buffer in such a way that it leaves with the bytes that follow.
    async fn flush_ahead(&mut self) -> io::Result<()> {
        let mut slices = [IoSlice::new(&[]); SLICES];
        if let (1, [head, ..]) = (self.send_buffer.slices(&mut slices), &slices) {
            let send = || salver_os::send_more(self.stream.tcp(), head);
            match self.stream.tcp().try_io(Interest::WRITABLE, send) {
                Ok(count) => {
                    self.send_buffer.advance(count);
                    self.count(count);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        if self.send_buffer.is_empty() {
            Ok(())
        } else {
            self.flush().await
        }
    }

    /// Sends a window of a file by the kernel; returns the end of the part sent: none of the window if it cannot, and
    /// part of it if the rest has to pass through the process.
    async fn send_by_kernel(
        &mut self,
        content: &FileContent,
        window: Range<u64>,
    ) -> io::Result<u64> {
        let mut at = window.start;
        // What lies elsewhere passes through the process.
        let Some(file) = content.file() else {
            return Ok(at);
        };
        while at < window.end {
            let count = usize::try_from(window.end - at).unwrap_or(usize::MAX);
            let send = || salver_os::send_file(self.stream.tcp(), &**file, at, count);
            match self.stream.tcp().try_io(Interest::WRITABLE, send) {
                // The file has become shorter: never pad.
                Ok(0) => return Err(io::ErrorKind::InvalidData.into()),
                Ok(count) => {
                    at = at.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
                    self.count(count);
                    if let Some(pace) = &mut self.pace {
                        pace.accept(count);
                    }
                    // The bytes given to the kernel just now count as well: the last ones must not complete a
                    // mixture.
                    content.check(Patience::MustNotWait)?;
                    if content.is_doubtful() {
                        self.shared.common.loader.read(content, at..at).await?;
                        return Ok(at);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    std::future::poll_fn(|context| {
                        let ready = self.stream.tcp().poll_write_ready(context);
                        self.check_pace(context, ready, 0)
                    })
                    .await?;
                    // Any time can have passed since the last check.
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

    fn check_pace(
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
                let logged = self.log.map_or(0, ConnectionLog::held);
                self.charge
                    .set(self.send_buffer.memory() + buffered + logged);
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

/// The residency of a window, as far as it is known without waiting.
fn residency(common: &ServerContext, content: &FileContent, window: &Range<u64>) -> Residency {
    if common.settings.check_residency {
        content.residency(window, common.loader.is_busy())
    } else {
        Residency::Resident
    }
}
