//! The encoder of Google's C library, behind an interface that is safe.
//!
//! Nothing here is about what is encoded: a caller chooses the parameters, and what comes out is judged by a decoder of
//! other descent.
//!
//! Where there is no memory left the library ends the process, as Rust itself does: callers keep within a budget.
#![allow(unsafe_code, reason = "a C library is called")]

use std::ffi::c_int;
use std::io;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use compu_brotli_sys as c;

#[cfg(feature = "dictionary")]
mod dictionary;

#[cfg(feature = "dictionary")]
pub(super) use dictionary::Dictionary;

/// The parameters of a stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameters {
    /// 0 to 11.
    pub(super) quality: u32,
    /// The binary logarithm of the window, 10 to 24.
    pub(super) window: u32,
    /// How much content there will be, for what the encoder does otherwise with little.
    pub(super) length: usize,
}

/// The encoder of one stream. It is used by the thread that made it.
pub(super) struct Encoder<'d> {
    state: NonNull<c::BrotliEncoderState>,
    /// The state has the address of a dictionary.
    dictionary: PhantomData<&'d ()>,
}

impl Encoder<'_> {
    /// An encoder with these parameters.
    ///
    /// # Errors
    /// If the library does not take the parameters.
    pub(super) fn new(parameters: Parameters) -> io::Result<Self> {
        // SAFETY: without functions of ours for memory the library takes malloc and free, and no `opaque`.
        let state = unsafe { c::BrotliEncoderCreateInstance(None, None, ptr::null_mut()) };
        let state = NonNull::new(state).ok_or(io::ErrorKind::OutOfMemory)?;
        // From here on `Drop` returns what was taken.
        let encoder = Encoder {
            state,
            dictionary: PhantomData,
        };
        let length = u32::try_from(parameters.length).unwrap_or(u32::MAX);
        for (parameter, value) in [
            (
                c::BrotliEncoderParameter_BROTLI_PARAM_QUALITY,
                parameters.quality,
            ),
            (
                c::BrotliEncoderParameter_BROTLI_PARAM_LGWIN,
                parameters.window,
            ),
            // The library takes no larger hint than a GiB.
            (
                c::BrotliEncoderParameter_BROTLI_PARAM_SIZE_HINT,
                length.min(1 << 30),
            ),
        ] {
            // SAFETY: the state is one that the library made and that nobody has destroyed. Whatever the value, the
            // library checks it before it encodes.
            if unsafe { c::BrotliEncoderSetParameter(encoder.state.as_ptr(), parameter, value) }
                == 0
            {
                return Err(io::ErrorKind::InvalidInput.into());
            }
        }
        Ok(encoder)
    }

    /// Takes more content, and appends to `coded` what has come out.
    ///
    /// # Errors
    /// If the library fails. Nothing more can be made then.
    pub(super) fn write(&mut self, content: &[u8], coded: &mut Vec<u8>) -> io::Result<()> {
        let operation = c::BrotliEncoderOperation_BROTLI_OPERATION_PROCESS;
        self.step(operation, content, coded)
    }

    /// Ends the stream, and appends the rest of it to `coded`.
    ///
    /// # Errors
    /// If the library fails.
    pub(super) fn finish(mut self, coded: &mut Vec<u8>) -> io::Result<()> {
        let operation = c::BrotliEncoderOperation_BROTLI_OPERATION_FINISH;
        self.step(operation, &[], coded)
    }

    fn step(&mut self, operation: c_int, content: &[u8], coded: &mut Vec<u8>) -> io::Result<()> {
        let (mut left, mut next) = (content.len(), content.as_ptr());
        loop {
            let (mut room, mut output) = (0, ptr::null_mut());
            // SAFETY: `next` has `left` bytes that live and do not change as long as `content` is borrowed; the library
            // moves both together. There is no room to write to, so that it writes into buffers of its own.
            let went_well = unsafe {
                c::BrotliEncoderCompressStream(
                    self.state.as_ptr(),
                    operation,
                    &raw mut left,
                    &raw mut next,
                    &raw mut room,
                    &raw mut output,
                    ptr::null_mut(),
                )
            };
            if went_well == 0 {
                return Err(io::Error::other("the Brotli encoder failed"));
            }
            let more = self.take(coded);
            if left == 0 && !more {
                return Ok(());
            }
        }
    }

    /// Appends to `coded` what the library has ready; true if it had anything.
    fn take(&mut self, coded: &mut Vec<u8>) -> bool {
        // All that there is.
        let mut length = 0;
        // SAFETY: the state is alive. What is returned has `length` bytes, and lives until the next call.
        let ready = unsafe { c::BrotliEncoderTakeOutput(self.state.as_ptr(), &raw mut length) };
        if ready.is_null() || length == 0 {
            return false;
        }
        // SAFETY: as above; they are copied before anything else is called.
        coded.extend_from_slice(unsafe { std::slice::from_raw_parts(ready, length) });
        true
    }
}

impl Drop for Encoder<'_> {
    fn drop(&mut self) {
        // SAFETY: the library made it, and nobody uses it any more.
        unsafe { c::BrotliEncoderDestroyInstance(self.state.as_ptr()) }
    }
}
