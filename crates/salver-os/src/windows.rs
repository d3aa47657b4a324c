//! Windows: opening beneath a directory by relative opens of the kernel, one component at a time. What only reads
//! bytes is compiled for tests everywhere.

pub(crate) mod directory_entry;
pub(crate) mod name;
pub(crate) mod reparse_point;

#[cfg(windows)]
pub(crate) mod beneath;
#[cfg(windows)]
mod calls;
#[cfg(windows)]
pub(crate) mod hidden_typing;
