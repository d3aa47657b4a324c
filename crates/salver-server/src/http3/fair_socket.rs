//! A fair UDP socket: while many datagrams wait, they are taken by turns of clients.
//!
//! The datagrams that thousands of connections send at the same moment stand in one queue of the kernel, and later
//! ones wait until QUIC has answered all of them. So where more wait than a few hundred connections send, all are
//! taken from the kernel, and given to QUIC client by client, a few at a time: each wakes a connection, and whoever
//! is new waits for those that were woken before. Where fewer wait, nothing is copied.

use std::io::{self, IoSliceMut};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};

use quinn::AsyncUdpSocket;
use quinn::udp::RecvMeta;

use super::datagram::{Datagram, fill};
use super::socket_layer::SocketLayer;
use crate::fair_queue::FairQueue;
use crate::seats::ClientKey;

/// The bytes of datagrams that may wait, about; beyond, those of clients that have more of them than others are lost.
const MOST_WAITING: usize = 4 * 1024 * 1024;

/// The times in a row that the kernel fills all buffers before datagrams are queued by client.
const FULL: usize = 4;

/// The times that the kernel is asked for more before some are given to QUIC.
const ROUNDS: usize = 16;

/// The most datagrams that QUIC is given before the connections that they wake have their turn.
const AT_A_TIME: usize = 8;

/// The layer that takes datagrams by turns of clients.
#[derive(Default)]
pub(super) struct FairLayer {
    waiting: Mutex<DatagramQueue>,
}

#[derive(Default)]
struct DatagramQueue {
    datagrams: FairQueue<ClientKey, Datagram>,
    count: usize,
    bytes: usize,
    /// The times in a row that the kernel has filled all buffers.
    full: usize,
    /// True if some of it have just been given to QUIC.
    given: bool,
}

impl DatagramQueue {
    fn put(&mut self, received: &[u8], meta: &RecvMeta) {
        let client = ClientKey::of(meta.addr.ip());
        if self.bytes >= MOST_WAITING {
            let fair = self.count / self.datagrams.keys().max(1);
            if self.bytes >= 2 * MOST_WAITING || self.datagrams.items_of(&client) >= fair {
                return;
            }
        }
        self.count += 1;
        self.bytes += received.len();
        let (meta, bytes) = (*meta, received.into());
        self.datagrams.push(client, Datagram { meta, bytes });
    }

    /// Takes a few datagrams; returns their number.
    fn take(&mut self, buffers: &mut [IoSliceMut<'_>], metas: &mut [RecvMeta]) -> usize {
        let mut left = AT_A_TIME;
        fill(buffers, metas, || {
            left = left.checked_sub(1)?;
            let datagram = self.datagrams.pop()?;
            self.count = self.count.saturating_sub(1);
            self.bytes = self.bytes.saturating_sub(datagram.bytes.len());
            Some(datagram)
        })
    }
}

impl SocketLayer for FairLayer {
    fn poll_recv(
        &self,
        below: &dyn AsyncUdpSocket,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        // No change of the queue can be half done.
        let waiting = &mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut waiting.given) && waiting.count > 0 {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        for _ in 0..ROUNDS {
            let count = match below.poll_recv(context, buffers, metas) {
                Poll::Ready(Ok(count)) => count,
                // An error comes again when no datagram waits.
                end if waiting.count == 0 => return end,
                _ => break,
            };
            waiting.full = match count < buffers.len() {
                true => 0,
                false => waiting.full.saturating_add(1),
            };
            if waiting.count == 0 && waiting.full < FULL {
                return Poll::Ready(Ok(count));
            }
            for (buffer, meta) in buffers.iter().zip(&*metas).take(count) {
                waiting.put(buffer.get(..meta.len).unwrap_or_default(), meta);
            }
            if count < buffers.len() {
                break;
            }
        }
        waiting.given = true;
        Poll::Ready(Ok(waiting.take(buffers, metas)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::net::SocketAddr;
    use std::pin::Pin;
    use std::sync::Arc;
    use std::task::Waker;

    use quinn::UdpPoller;
    use quinn::udp::Transmit;

    use super::super::socket_layer::LayeredSocket;
    use super::*;

    type FairSocket = LayeredSocket<FairLayer>;

    /// The kernel's datagrams: the last byte of the address, and the length of each.
    #[derive(Debug, Default)]
    struct Kernel(Mutex<VecDeque<(u8, usize)>>);

    impl AsyncUdpSocket for Kernel {
        fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
            panic!("nothing is sent")
        }

        fn try_send(&self, _: &Transmit<'_>) -> io::Result<()> {
            panic!("nothing is sent")
        }

        fn poll_recv(
            &self,
            _: &mut Context<'_>,
            buffers: &mut [IoSliceMut<'_>],
            metas: &mut [RecvMeta],
        ) -> Poll<io::Result<usize>> {
            let mut given = 0;
            for (buffer, meta) in buffers.iter_mut().zip(metas) {
                let Some((client, length)) = self.0.lock().unwrap().pop_front() else {
                    break;
                };
                buffer[..length].fill(client);
                meta.addr = ([192, 0, 2, client], 5).into();
                (meta.len, meta.stride) = (length, length);
                given += 1;
            }
            match given {
                0 => Poll::Pending,
                given => Poll::Ready(Ok(given)),
            }
        }

        fn local_addr(&self) -> io::Result<SocketAddr> {
            panic!("nobody asks")
        }

        fn may_fragment(&self) -> bool {
            false
        }
    }

    fn socket(arrived: &[(u8, usize, usize)]) -> (Arc<Kernel>, FairSocket) {
        let kernel = Arc::new(Kernel::default());
        arrive(&kernel, arrived);
        (
            Arc::clone(&kernel),
            LayeredSocket::new(FairLayer::default(), kernel),
        )
    }

    /// Datagrams arrive: of which client, how many, how long.
    fn arrive(kernel: &Kernel, all: &[(u8, usize, usize)]) {
        for &(client, count, length) in all {
            let one = std::iter::repeat_n((client, length), count);
            kernel.0.lock().unwrap().extend(one);
        }
    }

    /// More than are given of those that wait.
    const BUFFERS: usize = 2 * AT_A_TIME;

    /// The clients of the next datagrams.
    fn next(socket: &FairSocket) -> Vec<u8> {
        let mut bytes = vec![[0; 2000]; BUFFERS];
        let mut buffers: Vec<_> = bytes
            .iter_mut()
            .map(|buffer| IoSliceMut::new(buffer))
            .collect();
        let mut metas = [RecvMeta::default(); BUFFERS];
        let mut context = Context::from_waker(Waker::noop());
        let mut receive = || socket.poll_recv(&mut context, &mut buffers, &mut metas);
        // What was given before is worked off first.
        let count = match receive() {
            Poll::Pending => receive(),
            some => some,
        };
        let Poll::Ready(count) = count else {
            return Vec::new();
        };
        let all = buffers.iter().zip(&metas).take(count.unwrap());
        all.map(|(buffer, meta)| {
            assert_eq!(
                meta.addr.ip(),
                std::net::IpAddr::from([192, 0, 2, buffer[0]])
            );
            assert!(buffer[..meta.len].iter().all(|byte| *byte == buffer[0]));
            buffer[0]
        })
        .collect()
    }

    fn rest(socket: &FairSocket) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            match &*next(socket) {
                [] => return all,
                some => all.extend_from_slice(some),
            }
        }
    }

    #[test]
    fn who_comes_behind_a_thousand_of_another_is_among_the_next() {
        let (kernel, socket) = socket(&[(1, 100, 1200), (2, 1, 1200)]);
        for _ in 1..FULL {
            assert_eq!(next(&socket), [1; BUFFERS]);
        }
        let few = next(&socket);
        assert!(few.contains(&2) && few.len() == AT_A_TIME, "{few:?}");
        arrive(&kernel, &[(3, 2, 90)]);
        let next = next(&socket);
        assert_eq!(next.iter().filter(|client| **client == 3).count(), 2);
        assert_eq!(
            rest(&socket),
            [1; 103 - (FULL - 1) * BUFFERS - 2 * AT_A_TIME]
        );
        assert_eq!(socket.layer.waiting.lock().unwrap().bytes, 0);
    }

    #[test]
    fn what_is_little_stays_in_its_order_and_is_not_kept() {
        let (_, socket) = socket(&[(1, 3, 9), (2, 1, 9), (1, 3, 9)]);
        assert_eq!(next(&socket), [1, 1, 1, 2, 1, 1, 1]);
        assert!(next(&socket).is_empty());
    }

    #[test]
    fn a_flood_is_bounded_and_loses_its_own() {
        let (kernel, socket) = socket(&[(1, 9000, 1500)]);
        for _ in 0..100 {
            next(&socket);
            let waiting = socket.layer.waiting.lock().unwrap();
            assert!(waiting.bytes <= MOST_WAITING + BUFFERS * 1500);
            drop(waiting);
            arrive(&kernel, &[(1, 500, 1500)]);
        }
        arrive(&kernel, &[(2, 20, 1500)]);
        let rest = rest(&socket);
        assert!((1000..20_000).contains(&rest.len()), "{}", rest.len());
        assert_eq!(rest.iter().filter(|client| **client == 2).count(), 20);
    }
}
