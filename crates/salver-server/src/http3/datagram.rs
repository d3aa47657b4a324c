//! Received datagrams that wait in memory, to be given to QUIC as if they came from the kernel.

use std::io::IoSliceMut;

use quinn::udp::RecvMeta;

/// Datagrams of one client that the kernel has joined, or one of them.
#[derive(Debug)]
pub(super) struct Datagram {
    pub(super) meta: RecvMeta,
    pub(super) bytes: Box<[u8]>,
}

/// Fills buffers with the next datagrams; returns the number of buffers filled.
pub(super) fn fill(
    buffers: &mut [IoSliceMut<'_>],
    metas: &mut [RecvMeta],
    mut next: impl FnMut() -> Option<Datagram>,
) -> usize {
    let mut filled = 0;
    for (buffer, meta) in buffers.iter_mut().zip(metas) {
        let Some(datagram) = next() else {
            break;
        };
        // It came out of a buffer of this size.
        if let Some(room) = buffer.get_mut(..datagram.bytes.len()) {
            room.copy_from_slice(&datagram.bytes);
            *meta = datagram.meta;
            filled += 1;
        }
    }
    filled
}
