//! The deflate encoder of the C library, behind an interface that is safe.
//!
//! Where there is no memory left the library ends the process, as Rust itself does: callers keep within a budget.
#![allow(unsafe_code, reason = "a C library is called")]

use std::ffi::{c_int, c_uchar};
use std::ops::Range;
use std::ptr;

use zopfli_sys as c;

/// The library's own choice for each block: stored, fixed or dynamic.
const BEST_BLOCK: c_int = 2;

unsafe extern "C" {
    /// Appends the bytes `start..end` of `content` to `coded`, in blocks of deflate. It is in the library's header
    /// `deflate.h`, of which `zopfli_sys` has none.
    fn ZopfliDeflatePart(
        options: *const c::ZopfliOptions,
        block: c_int,
        is_last: c_int,
        content: *const c_uchar,
        start: usize,
        end: usize,
        bit: *mut c_uchar,
        coded: *mut *mut c_uchar,
        length: *mut usize,
    );
}

/// The encoder of one deflate stream (RFC 1951).
pub(super) struct Deflate<'a> {
    content: &'a [u8],
    options: c::ZopfliOptions,
    /// The bit of the last byte that is written next.
    bit: c_uchar,
    /// What has been coded: the library's own memory, of which it knows the size by the length. Null at first.
    coded: *mut c_uchar,
    length: usize,
}

impl<'a> Deflate<'a> {
    /// An encoder of this content as `zopfli` has it: 15 iterations, 15 blocks of a part at most.
    pub(super) fn new(content: &'a [u8]) -> Self {
        let mut options = c::ZopfliOptions::default();
        // SAFETY: the options are borrowed for the call, which sets each of them.
        unsafe { c::ZopfliInitOptions(&raw mut options) };
        Deflate {
            content,
            options,
            bit: 0,
            coded: ptr::null_mut(),
            length: 0,
        }
    }

    /// Codes a part of the content: the one after that which was coded before. The one that ends with the content ends
    /// the stream; a part beyond it is none.
    pub(super) fn part(&mut self, part: Range<usize>) {
        let Some(_) = self.content.get(part.clone()) else {
            return;
        };
        let is_last = part.end == self.content.len();
        // SAFETY: the part lies within the content, which is borrowed; the library looks back from it, never beyond its
        // end. The last three were null and 0 at first, and are what the library left them after each part.
        unsafe {
            ZopfliDeflatePart(
                &raw const self.options,
                BEST_BLOCK,
                is_last.into(),
                self.content.as_ptr(),
                part.start,
                part.end,
                &raw mut self.bit,
                &raw mut self.coded,
                &raw mut self.length,
            );
        }
    }

    /// What has been coded.
    pub(super) fn coded(&self) -> &[u8] {
        if self.coded.is_null() {
            return &[];
        }
        // SAFETY: the library has written so many bytes there, and changes them only by `part`.
        unsafe { std::slice::from_raw_parts(self.coded, self.length) }
    }
}

impl Drop for Deflate<'_> {
    fn drop(&mut self) {
        // SAFETY: the library takes what it codes by `malloc`; null is nobody's.
        unsafe { libc::free(self.coded.cast()) };
    }
}
