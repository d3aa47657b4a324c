//! Needs of a row: abilities of the machine without which it means nothing.

/// An ability of the machine that a row needs to mean anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Mode bits bind us: the tests don't run as root.
    Unprivileged,
    /// The file system takes names that are not UTF-8.
    RawNames,
    /// A FIFO could be made.
    Fifo,
    /// A socket could be bound (its path was short enough).
    Socket,
    /// A sparse file of 20 GiB could be made.
    Sparse,
    /// A time before 1970 could be set.
    NegativeTimes,
}
