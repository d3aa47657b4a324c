//! Bytes on their way to one socket: heads and small content in one buffer, larger content by
//! reference, all sent with as few calls as possible.

use std::io::IoSlice;

use bytes::Bytes;

/// Content up to this is copied behind its head, which saves the kernel a slice. Measured with 1,
/// 4 and 16 KiB: no difference beyond the noise of 5 %, but 2,600 instructions of copying less per
/// request of a usual site than with 16 KiB.
const COPIED: usize = 4 * 1024;

/// With so many bytes in an outbox, they are sent before more is made.
pub(crate) const ENOUGH: usize = 256 * 1024;

/// Memory that an outbox keeps between turns, in bytes.
const KEPT: usize = 256 * 1024;

/// Slices in one `writev`.
pub(crate) const SLICES: usize = 32;

/// A sequence of bytes, some owned and some shared.
#[derive(Default)]
pub(crate) struct Outbox {
    buffer: Vec<u8>,
    /// Shared bytes, each after so many bytes of the buffer.
    shared: Vec<(usize, Bytes)>,
    /// Length of all, sent or not.
    length: usize,
    /// How much of it has been sent.
    sent: usize,
}

impl Outbox {
    /// Appends by writing into a buffer.
    pub(crate) fn write<R>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        let before = self.buffer.len();
        let result = write(&mut self.buffer);
        self.length += self.buffer.len() - before;
        result
    }

    /// Appends shared bytes, copying only what is small.
    pub(crate) fn push(&mut self, bytes: &Bytes) {
        if bytes.len() <= COPIED {
            self.write(|buffer| buffer.extend_from_slice(bytes));
        } else {
            self.push_shared(bytes.clone());
        }
    }

    /// Appends shared bytes, and copies none of them.
    pub(crate) fn push_shared(&mut self, bytes: Bytes) {
        self.length += bytes.len();
        self.shared.push((self.buffer.len(), bytes));
    }

    /// Bytes that have not been sent.
    pub(crate) fn left(&self) -> usize {
        self.length - self.sent
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.left() == 0
    }

    /// Notes that so many more bytes have been sent. When all have, the buffer is ready for the
    /// next, with its memory.
    pub(crate) fn advance(&mut self, count: usize) {
        self.sent += count;
        if self.is_empty() {
            self.clear();
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.buffer.clear();
        self.shared.clear();
        self.length = 0;
        self.sent = 0;
    }

    /// Takes out what has not been sent, without the memory that this has besides.
    pub(crate) fn take_rest(&mut self) -> Outbox {
        let mut rest = Outbox::default();
        rest.buffer.reserve_exact(self.buffer.len());
        let mut skip = self.sent;
        let mut from = 0;
        let mut unsent = |part: &[u8]| {
            let sent = skip.min(part.len());
            skip -= sent;
            sent
        };
        for (at, bytes) in &self.shared {
            let own = self.buffer.get(from..*at).unwrap_or_default();
            let sent = unsent(own);
            rest.write(|buffer| buffer.extend_from_slice(own.get(sent..).unwrap_or_default()));
            let sent = unsent(bytes);
            if sent < bytes.len() {
                rest.push_shared(bytes.slice(sent..));
            }
            from = *at;
        }
        let own = self.buffer.get(from..).unwrap_or_default();
        let sent = unsent(own);
        rest.write(|buffer| buffer.extend_from_slice(own.get(sent..).unwrap_or_default()));
        rest.buffer.shrink_to_fit();
        self.clear();
        rest
    }

    /// Bytes of memory that it has of its own.
    pub(crate) fn memory(&self) -> usize {
        self.buffer.capacity()
    }

    /// Everything has been sent: gives back memory that is seldom needed.
    pub(crate) fn rest(&mut self) {
        if self.buffer.capacity() > KEPT {
            *self = Outbox::default();
        }
    }

    /// What is to be sent next, at most [`SLICES`] slices; the number of those that are used.
    pub(crate) fn slices<'a>(&'a self, slices: &mut [IoSlice<'a>; SLICES]) -> usize {
        let mut used = 0;
        let mut skip = self.sent;
        let mut from = 0;
        let mut put = |bytes: &'a [u8]| {
            let rest = bytes.get(skip.min(bytes.len())..).unwrap_or_default();
            skip -= bytes.len() - rest.len();
            if !rest.is_empty()
                && let Some(slot) = slices.get_mut(used)
            {
                *slot = IoSlice::new(rest);
                used += 1;
            }
        };
        for (at, bytes) in &self.shared {
            put(self.buffer.get(from..*at).unwrap_or_default());
            put(bytes);
            from = *at;
        }
        put(self.buffer.get(from..).unwrap_or_default());
        used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(outbox: &mut Outbox, step: usize) -> Vec<u8> {
        let mut out = Vec::new();
        while !outbox.is_empty() {
            let mut slices = [IoSlice::new(&[]); SLICES];
            let used = outbox.slices(&mut slices);
            assert!(used > 0);
            let next = slices[..used]
                .iter()
                .flat_map(|slice| slice.iter().copied());
            let before = out.len();
            out.extend(next.take(step));
            let count = out.len() - before;
            outbox.advance(count);
        }
        out
    }

    #[test]
    fn whatever_is_sent_at_a_time_the_bytes_stay_in_order() {
        let large = |byte: u8, length| Bytes::from(vec![byte; length]);
        for step in [1000, 1, 7, COPIED, usize::MAX] {
            let mut outbox = Outbox::default();
            let mut expected = Vec::new();
            for round in 0..40u8 {
                outbox.write(|buffer| buffer.extend_from_slice(b"head"));
                expected.extend_from_slice(b"head");
                let size = if step < 100 && round > 1 { 1 } else { COPIED };
                for bytes in [large(round, size), large(round, size + 1)] {
                    outbox.push(&bytes);
                    expected.extend_from_slice(&bytes);
                }
            }
            assert_eq!(outbox.left(), expected.len());
            if step % 2 == 1 {
                // What is left after a while, on its own.
                let sent = step.min(expected.len() / 2);
                outbox.advance(sent);
                expected.drain(..sent);
                let whole = outbox.memory();
                let rest = outbox.take_rest();
                assert!(outbox.is_empty() && rest.memory() <= whole);
                outbox = rest;
            }
            assert!(drain(&mut outbox, step) == expected, "step {step}");
            assert!(outbox.is_empty() && outbox.buffer.is_empty() && outbox.shared.is_empty());
        }
    }

    #[test]
    fn small_content_shares_a_slice_with_its_head() {
        let mut outbox = Outbox::default();
        outbox.write(|buffer| buffer.extend_from_slice(b"head"));
        outbox.push(&Bytes::from_static(b"content"));
        let mut slices = [IoSlice::new(&[]); SLICES];
        assert_eq!(outbox.slices(&mut slices), 1);
        assert_eq!(&*slices[0], b"headcontent");
    }
}
