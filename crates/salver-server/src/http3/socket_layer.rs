//! Layers over a UDP socket: what is done with datagrams on their way between the kernel and QUIC.

use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};

/// A layer over a socket. What it does not do itself, the socket below does.
pub(super) trait SocketLayer: Send + Sync + 'static {
    /// As [`AsyncUdpSocket::try_send`].
    fn try_send(&self, below: &dyn AsyncUdpSocket, transmit: &Transmit<'_>) -> io::Result<()> {
        below.try_send(transmit)
    }

    /// As [`AsyncUdpSocket::poll_recv`].
    fn poll_recv(
        &self,
        below: &dyn AsyncUdpSocket,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>>;
}

/// A UDP socket with a layer over it.
pub(super) struct LayeredSocket<L> {
    pub(super) layer: L,
    below: Arc<dyn AsyncUdpSocket>,
}

impl<L> LayeredSocket<L> {
    pub(super) fn new(layer: L, below: Arc<dyn AsyncUdpSocket>) -> Self {
        LayeredSocket { layer, below }
    }
}

impl<L> fmt::Debug for LayeredSocket<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let below = &self.below;
        f.debug_struct("LayeredSocket")
            .field("below", below)
            .finish_non_exhaustive()
    }
}

impl<L: SocketLayer> AsyncUdpSocket for LayeredSocket<L> {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Arc::clone(&self.below).create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.layer.try_send(&*self.below, transmit)
    }

    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let below = &*self.below;
        self.layer.poll_recv(below, context, buffers, metas)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.below.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.below.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.below.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.below.may_fragment()
    }
}
