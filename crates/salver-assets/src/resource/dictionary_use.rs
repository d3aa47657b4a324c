//! What a file has to do with compression dictionaries (RFC 9842): the versions that clients may have, and the codings
//! against them.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use salver_semantics::dictionary::AVAILABLE_LENGTH;
use salver_semantics::{AcceptEncoding, DictionaryCoding};

use crate::codings::key::DictionaryKey;
use crate::resource::representation::Representation;
use crate::source::digest::Digest;

/// The dictionaries of a file.
#[derive(Debug)]
pub(crate) struct DictionaryUse {
    /// The number of the mount that the file is in.
    pub(super) mount: usize,
    /// The digest of its content.
    pub(super) digest: Digest,
    /// The name that its versions have in common.
    pub(super) name: Box<[u8]>,
    /// What is to be kept for later versions, if that is not somewhere else.
    pub(super) keeps: Option<Keeps>,
    /// True once that was done.
    pub(super) is_kept: Arc<AtomicBool>,
    pub(super) versions: Vec<Version>,
    /// The length of the shortest representation without a dictionary, in bytes.
    pub(super) shortest: u64,
}

/// What is kept as a dictionary when it has been sent, or named.
#[derive(Debug)]
pub(crate) enum Keeps {
    /// The file itself.
    Itself,
    /// The file at this path in the mount of this number: the dictionary of pages.
    File(usize, Vec<u8>),
}

/// A version that clients may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownVersion {
    pub(crate) key: DictionaryKey,
    /// Its path, where the source of the file has it.
    pub(crate) path: Option<Vec<u8>>,
}

/// A version, with the codings against it.
#[derive(Debug)]
pub(crate) struct Version {
    pub(super) known: KnownVersion,
    /// The value of `Available-Dictionary` of who has it.
    pub(super) available: [u8; AVAILABLE_LENGTH],
    /// The codings against it that are there, or may be made.
    pub(super) deltas: Vec<(DictionaryCoding, Delta)>,
}

/// A coding against a version.
#[derive(Debug)]
pub(crate) enum Delta {
    Made(Arc<Representation>),
    Makeable,
}

/// A coding that a request would rather have, of a version by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WantedDelta {
    pub(crate) version: usize,
    pub(crate) coding: DictionaryCoding,
}

impl Version {
    /// The coding against it.
    pub(crate) fn delta(&self, coding: DictionaryCoding) -> Option<&Delta> {
        let mut deltas = self.deltas.iter();
        deltas.find_map(|(known, delta)| (*known == coding).then_some(delta))
    }
}

impl DictionaryUse {
    /// The coding against `version` that a client gets whatever else there is: it wants none more, and none is shorter.
    #[inline]
    pub(crate) fn best_for<'a>(
        &self,
        accept: &AcceptEncoding,
        version: &'a Version,
    ) -> Option<&'a Arc<Representation>> {
        let mut deltas = version.deltas.iter();
        deltas.find_map(|(coding, delta)| match delta {
            Delta::Made(made) if made.length() < self.shortest && accept.wants_most(*coding) => {
                Some(made)
            }
            Delta::Made(_) | Delta::Makeable => None,
        })
    }

    /// The version that the client says it has, with its place.
    #[inline]
    pub(crate) fn version(&self, available: &[u8]) -> Option<(usize, &Version)> {
        let mut versions = self.versions.iter().enumerate();
        versions.find(|(_, version)| version.available == available)
    }

    /// The codings that were made.
    pub(crate) fn made(&self) -> impl Iterator<Item = &Arc<Representation>> {
        let deltas = self.versions.iter().flat_map(|version| &version.deltas);
        deltas.filter_map(|(_, delta)| match delta {
            Delta::Made(made) => Some(made),
            Delta::Makeable => None,
        })
    }

    /// The bytes that it takes besides the representations.
    pub(crate) fn weight(&self) -> usize {
        let each = size_of::<Version>() + 2 * size_of::<(DictionaryCoding, Delta)>();
        let versions = self.versions.iter();
        let paths = versions.map(|version| version.known.path.as_ref().map_or(0, Vec::len));
        size_of::<Self>() + self.name.len() + each * self.versions.len() + paths.sum::<usize>()
    }
}
