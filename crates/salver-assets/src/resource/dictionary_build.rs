//! Building what a file has to do with dictionaries: whether it may become one, and what it may be coded against.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use salver_semantics::DictionaryCoding;
use salver_semantics::dictionary::{available_dictionary, name_pattern, use_as_dictionary};

use crate::codings::coder::MADE_AGAINST_DICTIONARY;
use crate::codings::key::{DictionaryKey, MadeAs};
use crate::codings::table::{MadeCoding, Verdict};
use crate::config::MountMatch;
use crate::resource::dictionary_use::{Delta, DictionaryUse, Keeps, KnownVersion, Version};
use crate::resource::engine_state::EngineState;
use crate::resource::handles::Handles;
use crate::resource::head::{DictionaryHeads, Field, Head};
use crate::resource::known_versions::{common_name, kept_versions, source_versions, versions};
use crate::resource::locate::FoundFile;
use crate::resource::representation::Representation;
use crate::source::digest::Digest;

/// The length below which nothing is worth the fields that go with a dictionary, in bytes.
const LEAST: u64 = 1024;

/// The name under which the dictionary of pages is kept.
const PAGES: &[u8] = b"\0pages";

/// The role of a file.
pub(super) struct DictionaryRole {
    name: Vec<u8>,
    /// The fields that say so.
    fields: Vec<Field>,
    keeps: Option<Keeps>,
    versions: Vec<KnownVersion>,
}

/// The file whose role is asked for, as it is sent.
pub(super) struct RoleOf<'a> {
    pub(super) mount: usize,
    pub(super) files: &'a Handles<'a>,
    pub(super) file: &'a FoundFile,
    pub(super) digest: Digest,
    /// The path of the site at which it is asked for.
    pub(super) path: &'a [u8],
    pub(super) head: &'a Head,
}

impl DictionaryRole {
    /// The role of a file that may be coded and is no error; `None` if it has none.
    pub(super) fn of(shared: &EngineState, of: &RoleOf<'_>) -> Option<Self> {
        let RoleOf { file, head, .. } = of;
        let is_kept_nowhere = head.values("Cache-Control").iter().any(|line| {
            let mut directives = line.split(|&byte| byte == b',');
            directives.any(|directive| directive.trim_ascii().eq_ignore_ascii_case(b"no-store"))
        });
        if !shared.config.dictionaries
            || MADE_AGAINST_DICTIONARY.is_empty()
            || file.identity.length < LEAST
            || file.is_by_accept()
            || is_kept_nowhere
            || head.value("Use-As-Dictionary").is_some()
        {
            return None;
        }
        let path = shared.mounts.path_of(of.mount, &file.path);
        if let Some(pages) = &shared.config.page_dictionary {
            if pages.as_bytes() == path {
                return Some(Self::of_page_dictionary(shared, of));
            }
            let media_type = head.value("Content-Type");
            if media_type.is_some_and(|of| of.starts_with(b"text/html")) {
                return Self::of_page(shared, pages);
            }
        }
        // Under another path it has another name there.
        (*of.path == *path).then(|| Self::of_version(shared, of, &path))?
    }

    /// The role of a file whose name has a fingerprint: it is the dictionary for the next with this name.
    fn of_version(shared: &EngineState, of: &RoleOf<'_>, path: &[u8]) -> Option<Self> {
        let file_name_beside = of.files.name_of(of.file);
        let name = file_name_beside.versioned(path)?;
        let pattern = name_pattern(name.before, name.after)?;
        let name = common_name(shared, path, name)?;
        let view = of.files.view();
        let is_known_to_source = source_versions(view, &of.file.path, &name).is_some();
        let may_be_kept = of.file.identity.length <= shared.pool.dictionaries.longest();
        Some(DictionaryRole {
            fields: vec![use_as(&pattern, destinations(of.head), of.digest)],
            keeps: (!is_known_to_source && may_be_kept).then_some(Keeps::Itself),
            versions: versions(shared, view, &of.file.path, &name),
            name,
        })
    }

    /// The role of the file that pages are coded against.
    fn of_page_dictionary(shared: &EngineState, of: &RoleOf<'_>) -> Self {
        DictionaryRole {
            name: page_name(shared),
            fields: vec![use_as("/*", &["document", "iframe", ""], of.digest)],
            keeps: Some(Keeps::Itself),
            versions: Vec::new(),
        }
    }

    /// The role of a page, which names the dictionary at this path of the site.
    fn of_page(shared: &EngineState, dictionary: &str) -> Option<Self> {
        let name = page_name(shared);
        let versions = kept_versions(shared, &name);
        let MountMatch::Within(mount, path) = shared.mounts.find_mount(dictionary.as_bytes())
        else {
            return None;
        };
        let link = format!(
            "<{}>; rel=\"compression-dictionary\"",
            salver_semantics::target_of(dictionary)
        );
        Some(DictionaryRole {
            name,
            fields: vec![("Link", link.into())],
            // Once it is there it is kept anew when it is sent itself.
            keeps: versions.is_empty().then_some(Keeps::File(mount, path)),
            versions,
        })
    }

    /// The same representation, with heads for requests that may have to do with dictionaries.
    pub(super) fn applied_to(&self, mut representation: Representation) -> Representation {
        let Representation {
            head, not_modified, ..
        } = &representation;
        let heads = DictionaryHeads::new(head, not_modified, &self.fields);
        representation.dictionary_heads = Some(Box::new(heads));
        representation
    }

    /// What the file has to do with dictionaries, and what it had before; `to_representation` makes a coding against one
    /// that.
    pub(super) fn into_use(
        self,
        shared: &EngineState,
        (mount, previous): (usize, Option<&DictionaryUse>),
        (digest, length): (Digest, u64),
        shortest: u64,
        to_representation: impl Fn(DictionaryCoding, MadeCoding) -> Representation,
    ) -> DictionaryUse {
        let codings = &shared.pool.codings;
        let delta = |key: DictionaryKey, coding: DictionaryCoding| {
            let made = MadeAs::Delta(coding, key);
            let delta = match codings.get(&shared.coding_key(digest, length, made)) {
                Some(Verdict::Made(made)) => {
                    let mut representation = to_representation(coding, made);
                    let heads = DictionaryHeads::new(
                        &representation.head,
                        &representation.not_modified,
                        &self.fields,
                    );
                    // Nobody else gets it.
                    representation.head = heads.whole;
                    representation.not_modified = heads.not_modified;
                    Delta::Made(Arc::new(representation))
                }
                Some(Verdict::NotWorthIt) => return None,
                None if codings.has_room_for(length, &made) => Delta::Makeable,
                None => return None,
            };
            Some((coding, delta))
        };
        let versions = self.versions.into_iter().map(|known| Version {
            available: available_dictionary(&known.key.sha256),
            deltas: MADE_AGAINST_DICTIONARY
                .iter()
                .filter_map(|&coding| delta(known.key, coding))
                .collect(),
            known,
        });
        // What has been kept and has left since had no room, and would have none again.
        let was_kept = matches!(self.keeps, Some(Keeps::Itself))
            && previous.is_some_and(|previous| {
                previous.digest == digest && previous.is_kept.load(Ordering::Relaxed)
            });
        DictionaryUse {
            mount,
            digest,
            name: self.name.into(),
            keeps: self.keeps,
            is_kept: Arc::new(AtomicBool::new(was_kept)),
            versions: versions.collect(),
            shortest,
        }
    }
}

fn page_name(shared: &EngineState) -> Vec<u8> {
    [shared.config.name.as_bytes(), PAGES].concat()
}

fn use_as(pattern: &str, destinations: &[&str], digest: Digest) -> Field {
    let id = format!("{:016x}", digest >> 64);
    let value = use_as_dictionary(pattern, destinations, &id);
    ("Use-As-Dictionary", value.into())
}

/// The destinations of requests that get content of this type, as the Fetch standard names them: empty is what scripts
/// ask for, and what is fetched ahead.
fn destinations(head: &Head) -> &'static [&'static str] {
    let media_type = head.value("Content-Type");
    let media_type = media_type.map_or(&b""[..], |value| value);
    let is = |kind: &[u8]| media_type.starts_with(kind);
    if is(b"text/javascript") {
        &["script", "worker", ""]
    } else if is(b"text/css") {
        &["style", ""]
    } else if is(b"image/") {
        &["image", ""]
    } else if is(b"font/") {
        &["font", ""]
    } else {
        &[""]
    }
}
