//! The bytes between a client and an admin listener, of any kind.

use std::io::{Read, Write};

/// A stream, with TLS or without.
pub(super) trait Stream: Read + Write + Send {}

impl<S: Read + Write + Send> Stream for S {}
