//! What long work says while it goes on.

/// An event of long work, for who waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// So many bytes more will be looked at.
    Expected(u64),
    /// So many bytes more are done.
    Done(u64),
    /// What a person should know although nothing is wrong: one line.
    Note(&'a str),
}

/// The listener of events: false ends the work, which then fails with [`Error::Stopped`](crate::Error::Stopped).
pub(crate) type Listener<'a> = dyn FnMut(Event<'_>) -> bool + 'a;
