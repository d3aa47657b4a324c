//! The UDP socket of a worker: datagrams for another worker are handed over, and those handed over by others come as
//! if from the kernel.

use std::collections::VecDeque;
use std::io::{self, IoSliceMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use quinn::AsyncUdpSocket;
use quinn::udp::RecvMeta;

use super::connection_ids::ConnectionIds;
use super::datagram::{Datagram, fill};
use super::socket_layer::SocketLayer;
use crate::deadlines::keep_waker;

/// The number of datagrams that may wait for a worker; further ones are lost, as they would be in a socket that is
/// full. Each takes 2 KiB at most but for the rare ones of local networks.
const WAITING: usize = 512;

/// The router of datagrams between the sockets of all workers at one address.
#[derive(Debug)]
pub(super) struct DatagramRouter {
    ids: ConnectionIds,
    inboxes: Vec<Inbox>,
}

/// The inbox of a worker, for datagrams that others received.
#[derive(Debug, Default)]
struct Inbox(Mutex<InboxState>);

#[derive(Debug, Default)]
struct InboxState {
    datagrams: VecDeque<Datagram>,
    waker: Option<Waker>,
}

impl DatagramRouter {
    pub(super) fn new(ids: ConnectionIds, workers: usize) -> Arc<Self> {
        Arc::new(DatagramRouter {
            ids,
            inboxes: (0..workers).map(|_| Inbox::default()).collect(),
        })
    }

    /// True if there is more than one worker.
    pub(super) fn has_others(&self) -> bool {
        self.inboxes.len() > 1
    }

    /// Hands a datagram over to a worker.
    fn give(&self, worker: u16, datagram: Datagram) {
        let Some(inbox) = self.inboxes.get(usize::from(worker)) else {
            return;
        };
        let waker = {
            let mut waiting = inbox.lock();
            if waiting.datagrams.len() >= WAITING {
                return;
            }
            waiting.datagrams.push_back(datagram);
            waiting.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, InboxState> {
        // No change of the inbox can be half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes as many datagrams as fit, or has the task woken when there are some.
    fn take(
        &self,
        context: &Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> usize {
        let mut waiting = self.lock();
        let taken = fill(buffers, metas, || waiting.datagrams.pop_front());
        if taken == 0 {
            keep_waker(&mut waiting.waker, context);
        }
        taken
    }
}

/// The layer over the socket of one worker.
pub(super) struct RoutingLayer {
    router: Arc<DatagramRouter>,
    worker: u16,
    /// True if the kernel has its turn before the inbox.
    kernel_first: AtomicBool,
}

impl RoutingLayer {
    pub(super) fn new(router: Arc<DatagramRouter>, worker: u16) -> Self {
        RoutingLayer {
            router,
            worker,
            kernel_first: AtomicBool::new(false),
        }
    }

    fn take(
        &self,
        context: &Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> usize {
        let inbox = self.router.inboxes.get(usize::from(self.worker));
        inbox.map_or(0, |inbox| inbox.take(context, buffers, metas))
    }

    /// Hands over the datagrams for other workers; those for this one stay in `buffer`, which may be none.
    fn sort(&self, buffer: &mut [u8], meta: &mut RecvMeta) {
        let stride = meta.stride.max(1);
        let received = buffer.get(..meta.len).unwrap_or_default();
        let foreign = |datagram: &[u8]| {
            let destination = self.router.ids.destination(datagram);
            destination.filter(|worker| *worker != self.worker)
        };
        // The kernel joins datagrams of one client, so that nearly always all are for one worker.
        if !received.chunks(stride).any(|one| foreign(one).is_some()) {
            return;
        }
        let (mut from, mut kept, end) = (0, 0, received.len());
        while from < end {
            let length = stride.min(end - from);
            let one = buffer.get(from..from + length).unwrap_or_default();
            match foreign(one) {
                Some(worker) => {
                    let meta = RecvMeta {
                        len: length,
                        stride: length,
                        ..*meta
                    };
                    let bytes = one.into();
                    self.router.give(worker, Datagram { meta, bytes });
                }
                None => {
                    // Only the last one may be shorter than the others, and it stays the last.
                    buffer.copy_within(from..from + length, kept);
                    kept += length;
                }
            }
            from += length;
        }
        meta.len = kept;
    }
}

impl SocketLayer for RoutingLayer {
    fn poll_recv(
        &self,
        below: &dyn AsyncUdpSocket,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        // In turns: a flood of one of the two does not shut out the other.
        let kernel_first = self.kernel_first.swap(false, Ordering::Relaxed);
        if !kernel_first {
            let taken = self.take(context, buffers, metas);
            if taken > 0 {
                self.kernel_first.store(true, Ordering::Relaxed);
                return Poll::Ready(Ok(taken));
            }
        }
        match below.poll_recv(context, buffers, metas) {
            Poll::Ready(Ok(count)) => {
                for (buffer, meta) in buffers.iter_mut().zip(metas).take(count) {
                    self.sort(buffer, meta);
                }
                Poll::Ready(Ok(count))
            }
            Poll::Pending if kernel_first => match self.take(context, buffers, metas) {
                0 => Poll::Pending,
                taken => Poll::Ready(Ok(taken)),
            },
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::pin::Pin;

    use super::super::connection_ids::IdGenerator;
    use super::super::socket_layer::LayeredSocket;
    use super::*;
    use quinn::udp::Transmit;
    use quinn::{ConnectionIdGenerator, UdpPoller};
    use salver_test::Wakes;

    /// The kernel's datagrams, one buffer after the other.
    #[derive(Debug, Default)]
    struct Kernel(Mutex<VecDeque<(Vec<u8>, usize)>>);

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
            let Some((bytes, stride)) = self.0.lock().unwrap().pop_front() else {
                return Poll::Pending;
            };
            buffers[0][..bytes.len()].copy_from_slice(&bytes);
            metas[0].len = bytes.len();
            metas[0].stride = stride;
            metas[0].addr = "192.0.2.1:5".parse().unwrap();
            Poll::Ready(Ok(1))
        }

        fn local_addr(&self) -> io::Result<SocketAddr> {
            panic!("nobody asks")
        }

        fn max_transmit_segments(&self) -> usize {
            64
        }

        fn max_receive_segments(&self) -> usize {
            32
        }

        fn may_fragment(&self) -> bool {
            false
        }
    }

    struct Worker {
        kernel: Arc<Kernel>,
        socket: LayeredSocket<RoutingLayer>,
        generator: IdGenerator,
        woken: Arc<Wakes>,
    }

    fn workers(count: u16) -> Vec<Worker> {
        let ids = ConnectionIds::new(count);
        let router = DatagramRouter::new(ids.clone(), count.into());
        let worker = |number| {
            let kernel = Arc::new(Kernel::default());
            Worker {
                socket: LayeredSocket::new(
                    RoutingLayer::new(Arc::clone(&router), number),
                    Arc::clone(&kernel) as _,
                ),
                kernel,
                generator: IdGenerator::new(ids.clone(), number),
                woken: Arc::default(),
            }
        };
        (0..count).map(worker).collect()
    }

    impl Worker {
        /// A datagram of this worker's connections.
        fn datagram(&mut self, mark: u8, length: usize) -> Vec<u8> {
            let mut bytes = vec![mark; length];
            bytes[0] = 0x40;
            bytes[1..9].copy_from_slice(&self.generator.generate_cid());
            bytes
        }

        fn arrives(&self, bytes: &[u8], stride: usize) {
            self.kernel
                .0
                .lock()
                .unwrap()
                .push_back((bytes.to_vec(), stride));
        }

        /// All datagrams that come, divided.
        fn received(&self) -> Vec<Vec<u8>> {
            let waker = Waker::from(Arc::clone(&self.woken));
            let (mut first, mut second) = (vec![0; 9000], vec![0; 9000]);
            let mut all = Vec::new();
            loop {
                let mut buffers = [IoSliceMut::new(&mut first), IoSliceMut::new(&mut second)];
                let mut metas = [RecvMeta::default(); 2];
                let mut context = Context::from_waker(&waker);
                let Poll::Ready(count) =
                    self.socket
                        .poll_recv(&mut context, &mut buffers, &mut metas)
                else {
                    return all;
                };
                for (buffer, meta) in buffers.iter().zip(metas).take(count.unwrap()) {
                    let bytes = &buffer[..meta.len];
                    all.extend(bytes.chunks(meta.stride.max(1)).map(<[u8]>::to_vec));
                }
            }
        }
    }

    #[test]
    fn each_datagram_comes_to_whom_it_is_for() {
        let mut all = workers(3);
        let own = all[0].datagram(1, 1200);
        let others = [
            all[1].datagram(2, 1200),
            all[2].datagram(3, 1200),
            all[1].datagram(4, 700),
        ];
        let nobody = vec![0xc0; 1200];
        for worker in &all {
            assert!(worker.received().is_empty());
        }
        // Joined by the kernel: of three workers, and one that says nothing; the last is shorter.
        let joined = [&others[0], &own, &others[1], &nobody, &others[2]];
        all[0].arrives(&joined.map(|one| &one[..]).concat(), 1200);
        all[0].arrives(&own, 1200);
        assert_eq!(
            all[0].received(),
            [own.clone(), nobody.clone(), own.clone()]
        );
        assert_eq!(all[1].woken.count(), 1, "once for both");
        assert_eq!(all[1].received(), [others[0].clone(), others[2].clone()]);
        assert_eq!(all[2].received(), [others[1].clone()]);
        // A shorter one of this worker's at the end stays whole, too.
        let short = all[0].datagram(5, 300);
        all[0].arrives(&[&others[0][..], &own, &short].concat(), 1200);
        assert_eq!(all[0].received(), [own, short]);
    }

    #[test]
    fn what_is_too_much_is_lost_and_nothing_else() {
        let mut all = workers(2);
        let datagram = all[1].datagram(1, 100);
        for _ in 0..WAITING + 10 {
            all[0].arrives(&datagram, 100);
        }
        assert!(all[0].received().is_empty());
        assert_eq!(all[1].received().len(), WAITING);
        all[0].arrives(&datagram, 100);
        assert!(all[0].received().is_empty());
        assert_eq!(all[1].received(), [datagram]);
    }

    #[test]
    fn offload_is_as_the_kernel_has_it() {
        let all = workers(2);
        let socket = &all[0].socket;
        assert_eq!(
            (
                socket.max_transmit_segments(),
                socket.max_receive_segments()
            ),
            (64, 32)
        );
        assert!(!socket.may_fragment());
    }
}
