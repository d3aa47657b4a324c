//! The bridge from futures to calls: an asynchronous source as a [`Source`], for the threads of the engine that may wait.

use std::fmt::{self, Debug};
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::source::asynchronous::{AsyncContent, AsyncReader, AsyncSource, AsyncView};
use crate::source::{
    KnownDigests, Metadata, Opened, Patience, Reader, RemoteContent, Source, View, copy, is_clean,
};
use crate::sync::Lock;

/// A future without output, for an executor.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// How long a call may take, unless it is told otherwise.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// An [`AsyncSource`] as a [`Source`].
///
/// Whoever must not wait gets `WouldBlock` without asking; the engine then calls from a thread that may, once for all who
/// want the same, and that thread waits while an executor drives the future. So no loop waits for a source, and no more
/// calls are under way than the engine has such threads.
///
/// A call that takes longer than its time limit fails with `TimedOut`, which the engine answers with 503, and its future is
/// dropped. One whose executor drops it, or that panics, fails as well.
///
/// ```
/// use salver_assets::source::{AsyncSource, SyncBridge};
///
/// fn bridge<S: AsyncSource>(source: S, runtime: &tokio::runtime::Handle) -> SyncBridge<S> {
///     let runtime = runtime.clone();
///     SyncBridge::new(source, move |task| {
///         runtime.spawn(task);
///     })
/// }
/// ```
pub struct SyncBridge<S> {
    source: Arc<S>,
    executor: Executor,
}

impl<S: AsyncSource> SyncBridge<S> {
    /// The bridge to a source, whose futures are driven by the executor that `spawn` gives them to.
    pub fn new(source: S, spawn: impl Fn(Task) + Send + Sync + 'static) -> Self {
        SyncBridge {
            source: Arc::new(source),
            executor: Executor {
                spawn: Arc::new(spawn),
                time_limit: TIME_LIMIT,
            },
        }
    }

    /// How long a call may take. Default: 10 seconds.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.executor.time_limit = limit;
        self
    }

    /// The source.
    pub fn get_ref(&self) -> &S {
        &self.source
    }
}

impl<S: Debug> Debug for SyncBridge<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SyncBridge").field(&self.source).finish()
    }
}

impl<S: AsyncSource> Source for SyncBridge<S> {
    fn view(&self, patience: Patience) -> io::Result<Arc<dyn View>> {
        let source = Arc::clone(&self.source);
        let view = self
            .executor
            .wait(patience, async move { source.view().await })?;
        Ok(Arc::new(BridgedView {
            view: Arc::new(view),
            executor: self.executor.clone(),
        }))
    }
}

/// One state of a tree that is asked by futures.
struct BridgedView<V> {
    view: Arc<V>,
    executor: Executor,
}

impl<V: AsyncView> View for BridgedView<V> {
    fn stat(&self, path: &[u8], patience: Patience) -> io::Result<Metadata> {
        let (view, path) = self.asked(path)?;
        self.executor
            .wait(patience, async move { view.stat(&path).await })
    }

    fn open(&self, path: &[u8], patience: Patience) -> io::Result<Opened> {
        let (view, path) = self.asked(path)?;
        let opening = async move { view.open(&path).await };
        let (metadata, reader) = self.executor.wait(patience, opening)?;
        let reader = match reader {
            AsyncReader::Whole(bytes) => Reader::Memory(bytes),
            AsyncReader::Ranges(content) => Reader::Remote(Arc::new(BridgedContent {
                content,
                executor: self.executor.clone(),
            })),
        };
        Ok(Opened {
            metadata,
            reader,
            // What is in memory is had at once, and the rest is known not to be.
            local: true,
        })
    }

    fn list(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.names(path, usize::MAX)
    }

    fn names(&self, path: &[u8], most: usize) -> io::Result<Vec<Vec<u8>>> {
        let (view, path) = self.asked(path)?;
        let listing = async move { view.names(&path, most).await };
        let mut names = self.executor.wait(Patience::MayWait, listing)?;
        names.truncate(most);
        Ok(names)
    }

    fn known(&self, path: &[u8]) -> Option<KnownDigests> {
        is_clean(path).then(|| self.view.known(path)).flatten()
    }
}

impl<V> BridgedView<V> {
    /// What a future owns of a question.
    fn asked(&self, path: &[u8]) -> io::Result<(Arc<V>, Vec<u8>)> {
        if !is_clean(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok((Arc::clone(&self.view), path.to_vec()))
    }
}

/// Content that is read by futures.
#[derive(Debug)]
struct BridgedContent {
    content: Arc<dyn AsyncContent>,
    executor: Executor,
}

impl RemoteContent for BridgedContent {
    fn read_at(&self, buffer: &mut [u8], offset: u64, patience: Patience) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let content = Arc::clone(&self.content);
        let range = offset..offset.saturating_add(buffer.len() as u64);
        let reading = async move { content.read(range).await };
        let bytes = self.executor.wait(patience, reading)?;
        Ok(copy(&bytes, 0, buffer))
    }

    fn is_in_memory(&self, range: &Range<u64>) -> bool {
        range.is_empty()
    }
}

/// What drives futures, and how long they may take.
#[derive(Clone)]
struct Executor {
    spawn: Arc<dyn Fn(Task) + Send + Sync>,
    time_limit: Duration,
}

impl Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Executor").field(&self.time_limit).finish()
    }
}

impl Executor {
    /// The output of a future, if it may be waited for.
    fn wait<T: Send + 'static>(
        &self,
        patience: Patience,
        future: impl Future<Output = io::Result<T>> + Send + 'static,
    ) -> io::Result<T> {
        if patience == Patience::MustNotWait {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let (sender, receiver) = sync_channel(1);
        let abandoned = Arc::<Abandoned>::default();
        (self.spawn)(Box::pin(Call {
            future: Box::pin(future),
            sender,
            abandoned: Arc::clone(&abandoned),
        }));
        match receiver.recv_timeout(self.time_limit) {
            Ok(output) => output,
            Err(RecvTimeoutError::Timeout) => {
                abandoned.tell();
                Err(io::ErrorKind::TimedOut.into())
            }
            Err(RecvTimeoutError::Disconnected) => {
                Err(io::Error::other("the source gave up the call"))
            }
        }
    }
}

/// A call that somebody waits for, and that ends when nobody does any more.
struct Call<T> {
    future: Pin<Box<dyn Future<Output = io::Result<T>> + Send>>,
    sender: SyncSender<io::Result<T>>,
    abandoned: Arc<Abandoned>,
}

impl<T> Future for Call<T> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.abandoned.is_told(context.waker()) {
            return Poll::Ready(());
        }
        let Poll::Ready(output) = self.future.as_mut().poll(context) else {
            return Poll::Pending;
        };
        // There is room for one, and there is no other. Nobody may be there to take it.
        let _ = self.sender.try_send(output);
        Poll::Ready(())
    }
}

/// Whether a call has been abandoned, and who drives it.
#[derive(Debug, Default)]
struct Abandoned(Lock<(bool, Option<Waker>)>);

impl Abandoned {
    /// Has whoever drives the call drop it.
    fn tell(&self) {
        let mut state = self.0.hold();
        state.0 = true;
        let driver = state.1.take();
        drop(state);
        if let Some(driver) = driver {
            driver.wake();
        }
    }

    /// True if it has been abandoned; else `driver` is woken once it is.
    fn is_told(&self, driver: &Waker) -> bool {
        let mut state = self.0.hold();
        match &mut state.1 {
            Some(known) => known.clone_from(driver),
            none => *none = Some(driver.clone()),
        }
        state.0
    }
}

#[cfg(test)]
mod tests;
