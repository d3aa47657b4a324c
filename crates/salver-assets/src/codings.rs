//! Codings of files that have no precompressed sibling: made beside the answers, once for each content, and kept.
//!
//! ```text
//!  an answer without the coding        a worker               its idle thread
//!  that its client would rather have
//!            │ asks                       │                        │
//!            └──────────► queue ────────► reads the content        │
//!                                         ├─────────────────────►  hashes it
//!                                         looks what is kept       │
//!                                         ├─────────────────────►  encodes, decodes again,
//!                                         │                        rests in proportion
//!                                         table and directory ◄────┘
//!                                         loads the paths again: their next answers have it
//! ```
//!
//! A worker runs at the priority of loads, its idle thread only when no other thread wants the core. So for what an idle
//! thread holds nobody may wait: it has its input, its output, and no lock that others take. Where it gets no core for
//! seconds, its worker does the work.
//!
//! A coding against a dictionary (RFC 9842) is one more of them: its key has the dictionary, too. `dictionaries` has the
//! contents that clients may have as such where no source keeps them.

#[cfg_attr(not(feature = "compress"), path = "codings/coder_absent.rs")]
pub(crate) mod coder;
pub(crate) mod dictionaries;
pub(crate) mod directory;
mod entry_file;
mod idle_thread;
pub(crate) mod job;
pub(crate) mod key;
mod pace;
pub(crate) mod pool;
pub(crate) mod queue;
pub(crate) mod table;
mod worker;
