//! Dictionaries of encoders (RFC 9841).

use std::ffi::c_int;
use std::io;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use compu_brotli_sys as c;

use super::{Encoder, Parameters};

/// A dictionary that encoders look into: tables of the places in its bytes, which it borrows.
pub(in crate::encode::brotli) struct Dictionary<'a> {
    prepared: NonNull<c::BrotliEncoderPreparedDictionary>,
    bytes: PhantomData<&'a [u8]>,
}

impl<'a> Dictionary<'a> {
    /// A dictionary in the raw format, whatever its bytes are, for encoders of a quality.
    ///
    /// # Errors
    /// If the library does not take it.
    pub(in crate::encode::brotli) fn new(bytes: &'a [u8], quality: u32) -> io::Result<Self> {
        // SAFETY: the bytes are as many as is said. The library keeps their address, and `bytes` borrows them for as long
        // as the dictionary lives.
        let prepared = unsafe {
            c::BrotliEncoderPrepareDictionary(
                c::BrotliSharedDictionaryType_BROTLI_SHARED_DICTIONARY_RAW,
                bytes.len(),
                bytes.as_ptr(),
                c_int::try_from(quality).unwrap_or(c_int::MAX),
                None,
                None,
                ptr::null_mut(),
            )
        };
        let prepared = NonNull::new(prepared).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Dictionary {
            prepared,
            bytes: PhantomData,
        })
    }
}

impl Drop for Dictionary<'_> {
    fn drop(&mut self) {
        // SAFETY: the library made it, and encoders that have it borrow it: there are none any more.
        unsafe { c::BrotliEncoderDestroyPreparedDictionary(self.prepared.as_ptr()) }
    }
}

impl<'d> Encoder<'d> {
    /// An encoder with these parameters and a dictionary.
    ///
    /// # Errors
    /// If the library does not take the parameters or the dictionary.
    pub(in crate::encode::brotli) fn with_dictionary(
        parameters: Parameters,
        dictionary: &'d Dictionary<'_>,
    ) -> io::Result<Self> {
        let encoder = Self::new(parameters)?;
        let (state, prepared) = (encoder.state.as_ptr(), dictionary.prepared.as_ptr());
        // SAFETY: both were made by the library and live. The encoder borrows the dictionary for as long as it lives.
        match unsafe { c::BrotliEncoderAttachPreparedDictionary(state, prepared) } {
            0 => Err(io::ErrorKind::InvalidInput.into()),
            _ => Ok(encoder),
        }
    }
}
