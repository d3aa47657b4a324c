//! Choosing between a file and its alternatives by Accept (RFC 9110 section 12.1).
//!
//! Each alternative has an entry of its own, and the original one too, so that an alternative which cannot be read harms
//! nobody: whoever wants it then gets the original.

use std::sync::Arc;

use salver_semantics::{RequestPath, content_type, preferred_alternative};

use crate::alternative::{Alternative, Choice, alternative_key};
use crate::engine::{Engine, Now, Step};
use crate::path::file_name;
use crate::pending::{AskedKey, RequestProgress};
use crate::request::Request;
use crate::resource::entry::CacheEntry;
use crate::resource::representations::Representations;

impl Engine {
    /// The choice for a request.
    pub(crate) fn choice(
        &self,
        request: &Request<'_>,
        original: &Representations,
        key: AskedKey,
    ) -> Choice {
        // Files are asked for by name there.
        if key != AskedKey::Path || self.exact {
            return Choice::Original;
        }
        let Some(details) = request.details else {
            return Choice::NeedDetails;
        };
        let found = &original.found;
        let media_types = found.alternatives.iter().map(|found| found.media_type());
        let own = content_type(file_name(&found.path));
        let chosen = preferred_alternative(details.field("accept"), own, media_types);
        match chosen.and_then(|index| found.alternatives.get(index)) {
            Some(alternative) => Choice::Alternative(*alternative),
            None => Choice::Original,
        }
    }

    /// Looks up an alternative to the file of this entry.
    pub(crate) fn look_up_alternative(
        &self,
        request: &Request<'_>,
        path: &RequestPath<'_>,
        (original, alternative): (&Arc<CacheEntry>, Alternative),
        now: Now,
        progress: RequestProgress,
    ) -> Step {
        let key = alternative_key(&original.key, alternative);
        let progress = RequestProgress {
            key: AskedKey::Alternative,
            ..progress
        };
        let ruling = original.rules.ruling.as_ref();
        self.look_up_key(request, path, (&key, ruling), now, progress)
    }

    /// Looks up the original in the place of an alternative that is not there, or cannot be read.
    pub(crate) fn look_up_original(
        &self,
        request: &Request<'_>,
        path: &RequestPath<'_>,
        now: Now,
        progress: RequestProgress,
    ) -> Step {
        let key = AskedKey::Original;
        self.look_up(request, path, now, RequestProgress { key, ..progress })
    }
}
