//! The settings of codings that are made while the program runs.

use std::sync::Arc;

use salver_assets::{CodingDirectory, CompressibleTypes};

use crate::builder::Builder;

impl Builder {
    /// Makes the codings br, zstd and gzip of files that get smaller and have no precompressed sibling: once for each
    /// content, when a client would rather have one, on threads of the lowest priority that begin when there is work.
    /// Answers never wait for them. They may take three eighths of [`cache_size`](Self::cache_size). Takes the feature
    /// `compress`, as all that belongs to it. Default: no coding is made.
    #[must_use]
    pub fn compress(mut self) -> Self {
        self.config.compress = true;
        self
    }

    /// Codes what has a former version that the client has against that (RFC 9842), where [codings are
    /// made](Self::compress): files whose names carry a fingerprint, such as `app.3f9a1c2b.js`, tell clients to keep them
    /// for that. Requests have to come from a secure context: see [`SecureTransport`](crate::SecureTransport). Former
    /// versions take a sixteenth of [`cache_size`](Self::cache_size). Default: no.
    #[must_use]
    pub fn dictionaries(mut self) -> Self {
        self.config.dictionaries = true;
        self
    }

    /// The path of the file that pages are coded against, with [`dictionaries`](Self::dictionaries): pages name it, and
    /// browsers load it once. Default: none.
    #[must_use]
    pub fn page_dictionary(mut self, path: &str) -> Self {
        self.config.page_dictionary = Some(path.to_owned());
        self
    }

    /// The media types of which [`compress`](Self::compress) makes codings. Default: those that get smaller.
    #[must_use]
    pub fn compress_types(mut self, types: CompressibleTypes) -> Self {
        self.config.compress_types = types;
        self
    }

    /// How much of a core [`compress`](Self::compress) may take, in percent. Default: 50.
    #[must_use]
    pub fn compress_cpu(mut self, percent: u32) -> Self {
        self.config.compress_cpu = percent;
        self
    }

    /// Keeps the codings that are made in a directory, for the next start. Default: they end with the program.
    #[must_use]
    pub fn keep_codings_in(mut self, directory: CodingDirectory) -> Self {
        self.config.kept_codings = Some(Arc::new(directory));
        self
    }
}
