//! A connection that ends when nothing moves on it for too long.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// A stream with time limits: `idle` while no answer is under way, `send` while the client takes nothing.
#[derive(Debug)]
pub(crate) struct TimedStream<S> {
    stream: S,
    timer: Pin<Box<Sleep>>,
    idle: Duration,
    send: Duration,
    is_sending: bool,
    /// As many clones as there are answers under way, and one more.
    answers: Arc<()>,
}

impl<S> TimedStream<S> {
    pub(crate) fn new(stream: S, idle: Duration, send: Duration, answers: Arc<()>) -> Self {
        TimedStream {
            stream,
            timer: Box::pin(sleep(idle)),
            idle,
            send,
            is_sending: false,
            answers,
        }
    }

    fn set(&mut self, time: Duration) {
        self.timer.as_mut().reset(Instant::now() + time);
    }

    /// The clones that the stream and its service have themselves.
    fn is_answering(&self) -> bool {
        Arc::strong_count(&self.answers) > 2
    }

    fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        loop {
            if self.timer.as_mut().poll(context).is_pending() {
                return false;
            }
            if self.is_sending || !self.is_answering() {
                return true;
            }
            self.set(self.idle);
        }
    }

    fn moved<T>(
        &mut self,
        result: Poll<io::Result<T>>,
        writes: bool,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        match result {
            Poll::Ready(result) => {
                if writes {
                    self.is_sending = false;
                }
                if !self.is_sending {
                    self.set(self.idle);
                }
                Poll::Ready(result)
            }
            Poll::Pending => {
                if writes && !self.is_sending {
                    self.is_sending = true;
                    self.set(self.send);
                }
                match self.is_over(context) {
                    true => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
                    false => Poll::Pending,
                }
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.moved(result, false, context)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.moved(result, true, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.moved(result, true, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    const IDLE: Duration = Duration::from_secs(60);
    const SEND: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn who_says_nothing_or_reads_nothing_is_left() {
        let answers = Arc::new(());
        let (ours, mut theirs) = duplex(4);
        let began = Instant::now();
        let mut stream = TimedStream::new(ours, IDLE, SEND, Arc::clone(&answers));
        theirs.write_all(b"ab").await.unwrap();
        stream.read_exact(&mut [0; 2]).await.unwrap();
        let error = stream.read(&mut [0; 2]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(began.elapsed().as_secs(), IDLE.as_secs());
        let began = Instant::now();
        let error = stream.write_all(b"more than fits").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(began.elapsed().as_secs(), SEND.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_under_way_is_waited_for() {
        let answers = Arc::new(());
        let (ours, theirs) = duplex(4);
        let mut stream = TimedStream::new(ours, IDLE, SEND, Arc::clone(&answers));
        let (began, answer) = (Instant::now(), Arc::clone(&answers));
        let waits = tokio::spawn(async move { stream.read(&mut [0; 2]).await.unwrap_err().kind() });
        tokio::time::sleep(IDLE * 3 / 2).await;
        drop(answer);
        assert_eq!(waits.await.unwrap(), io::ErrorKind::TimedOut);
        assert_eq!(began.elapsed().as_secs(), IDLE.as_secs() * 2);
        drop(theirs);
    }
}
