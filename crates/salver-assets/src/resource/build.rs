//! Building the representations of a file: its digest, those of its siblings, and the entity tags.

use std::sync::Arc;

use salver_semantics::coding::ContentCoding;

use crate::codings::table::MadeCoding;
use crate::error::Stop;
use crate::resource::cached_content::CachedContent;
use crate::resource::dictionary_build::{DictionaryRole, RoleOf};
use crate::resource::engine_state::EngineState;
use crate::resource::handles::{Handles, hash, read};
use crate::resource::head::{OwnField, nosniff, vary};
use crate::resource::locate::FoundFile;
use crate::resource::made_codings::{MadeCodings, may_be_coded};
use crate::resource::representation::{Representation, TagBasis};
use crate::resource::representation_coding::RepresentationCoding;
use crate::resource::representations::Representations;
use crate::resource::ruling::Ruling;
use crate::resource::siblings::{SiblingVerdict, Siblings};
use crate::source::digest::{self, Digest, Hashed};
use crate::source::growth::Sample;
use crate::source::identity::{changed_within, may_change_unseen};
use crate::source::snapshot::{ReadContext, is_still};
use crate::source::{Identity, Patience};
use crate::strategy::{Way, way};

/// An original that was read or looked up: its digest, if it is short enough to be hashed at once, and its
/// content if that was read and may be kept.
#[derive(Debug, Default)]
pub(crate) struct Original {
    digest: Option<Digest>,
    content: Option<CachedContent>,
}

impl Original {
    /// Reads the file, of the mount of this number, if its digest is not known.
    pub(crate) fn read(
        shared: &EngineState,
        mount: usize,
        files: &Handles<'_>,
        file: &FoundFile,
        cached: bool,
        context: ReadContext<'_>,
    ) -> Result<Self, Stop> {
        // Before anything is read, so that nothing is read twice, and the program's rule asked once.
        if context.patience == Patience::MustNotWait
            && shared.is_in_doubt(mount, files.name_of(file))
        {
            return Err(Stop::WouldWait);
        }
        let known = |digest| Original {
            digest: Some(digest),
            content: None,
        };
        if let Some(hashed) = files.view().known(&file.path) {
            return Ok(known(hashed.digest));
        }
        if file.identity.length > shared.config.hash_up_to {
            return Ok(Original::default());
        }
        let coding = ContentCoding::Identity;
        if !may_change_unseen(&file.identity)
            && let Some(hashed) = shared.pool.digests.get(&file.identity, coding)
        {
            return Ok(known(hashed.digest));
        }
        let opened = files.open(&file.path, &file.identity, context)?;
        // What will be sent from memory is read once, for that and for its hash.
        let (digest, content) = if way(&shared.situation(&file.identity, cached)) == Way::Read {
            let content = read(shared, &opened, context)?;
            (digest::of_bytes(&content.bytes), Some(content))
        } else {
            (hash(shared, &opened, context)?, None)
        };
        let hashed = Hashed::plain(digest);
        shared.pool.digests.remember(&file.identity, coding, hashed);
        let digest = Some(digest);
        Ok(Original { digest, content })
    }
}

/// The rules for the heads of a file.
#[derive(Clone, Copy)]
pub(crate) struct HeadRules<'a> {
    pub(crate) ruling: Option<&'a Ruling>,
    /// True if the file is the page of an error.
    pub(crate) is_error: bool,
    /// True if the type holds, whatever the content looks like.
    pub(crate) nosniff: bool,
    /// The path of the site that it is asked for at.
    pub(crate) path: &'a [u8],
}

impl HeadRules<'_> {
    /// The fields that the rules add to errors about the file.
    pub(crate) fn error_fields(self) -> Vec<OwnField> {
        self.ruling.map(Ruling::error_fields).unwrap_or_default()
    }

    /// True if the file may have to do with dictionaries: it is for all, and no error.
    fn may_have_dictionaries(self) -> bool {
        !self.is_error && !self.ruling.is_some_and(|ruling| ruling.is_private)
    }

    /// The representation with the heads that the rules make of its own.
    pub(crate) fn applied_to(self, representation: Representation) -> Representation {
        let mut representation = match self.is_error {
            true => representation.into_error_page(),
            false => representation,
        };
        if self.nosniff {
            representation.head.fields.push(nosniff());
        }
        if self.ruling.is_some_and(|ruling| ruling.is_private) {
            representation = representation.into_private();
        }
        if let Some(ruling) = self.ruling {
            let coding = representation.coding.plain();
            if self.is_error {
                ruling.change_error(coding, &mut representation.head);
            } else {
                ruling.change(coding, &mut representation.head);
                ruling.change_not_modified(coding, &mut representation.not_modified);
            }
        }
        representation
    }
}

/// Builds the representations of `file`, with heads by `rules`. Content that happened to be read, or
/// that `previous` holds and that is still right, comes with it.
pub(crate) fn build(
    siblings: &mut Siblings<'_>,
    files: &Handles<'_>,
    file: FoundFile,
    original: Original,
    (previous, rules): (Option<&Representations>, HeadRules<'_>),
    context: ReadContext<'_>,
) -> Result<Representations, Stop> {
    let look_again = may_change_unseen(&file.identity)
        || file
            .siblings
            .iter()
            .any(|(_, identity)| may_change_unseen(identity));
    let Original { digest, content } = original;
    let verdicts = siblings.judge(files, &file, digest)?;
    let undecided = verdicts.contains(&SiblingVerdict::Unknown);
    let fits = file.siblings.iter().zip(&verdicts);
    let fits = fits.filter_map(|(&(coding, identity), verdict)| match verdict {
        SiblingVerdict::Fits(digest) => Some((coding, identity, *digest)),
        SiblingVerdict::Differs | SiblingVerdict::Unknown => None,
    });
    let shared = siblings.shared();
    let all = std::iter::once((ContentCoding::Identity, file.identity, digest)).chain(fits);
    let all: Vec<_> = all.collect();
    let is_alone = all.len() == 1;
    let mount = siblings.mount();
    let now = shared.since_epoch(context.since);
    let cache_control = shared.cache_control(mount, files.name_of(&file), now);
    let as_plain = |basis| {
        let (path, identity) = (file.path.clone(), file.identity);
        let cache_control = cache_control.clone();
        let coding = ContentCoding::Identity;
        Representation::new(
            coding,
            path,
            &file.path,
            identity,
            basis,
            None,
            cache_control,
        )
    };
    let (mut codings, mut role) = (MadeCodings::default(), None);
    // What grows is another file soon.
    if let Some(digest) = digest.filter(|_| shared.config.compress && !context.grows) {
        let head = rules.applied_to(as_plain(TagBasis::Digest(digest))).head;
        let length = file.identity.length;
        if may_be_coded(&shared.config.compress_types, &head, length) {
            // A sibling that is not decided yet may well fit.
            let others = file.siblings.iter().zip(&verdicts);
            let others = others.filter(|(_, verdict)| **verdict != SiblingVerdict::Differs);
            let others: Vec<_> = others.map(|((coding, _), _)| *coding).collect();
            codings = MadeCodings::of(shared, mount, (digest, length), &others);
            let of = RoleOf {
                mount,
                files,
                file: &file,
                digest,
                path: rules.path,
                head: &head,
            };
            if rules.may_have_dictionaries() {
                role = DictionaryRole::of(shared, &of).map(|role| (role, digest));
            }
        }
    }
    let with_dictionary_heads = |representation: Representation| match &role {
        Some((role, _)) => role.applied_to(representation),
        None => representation,
    };
    let has_choice =
        !is_alone || undecided || !codings.made.is_empty() || codings.makeable.is_some();
    // Who may get another one tomorrow has a choice, too.
    let vary = vary(file.is_by_accept(), has_choice);
    let mut list = Vec::with_capacity(all.len());
    for (coding, identity, digest) in all {
        let path = file.path_of(coding);
        // What is not hashed and changed a moment ago may change again, or grow, under one identity.
        let may_change = || {
            changed_within(&identity, shared.config.settle_time)
                || may_change_unseen(&identity)
                || (context.grows && coding == ContentCoding::Identity)
        };
        let tag_basis = match digest {
            Some(digest) => TagBasis::Digest(digest),
            None if may_change() => TagBasis::WeakPrefix(sample(files, &path, &identity, context)?),
            None => TagBasis::Identity,
        };
        let representation = Representation::new(
            coding,
            path,
            &file.path,
            identity,
            tag_basis,
            vary,
            cache_control.clone(),
        );
        let representation = with_dictionary_heads(rules.applied_to(representation));
        let kept = previous
            .and_then(|representations| {
                representations
                    .list
                    .iter()
                    .find(|old| old.coding.plain() == coding)
            })
            .filter(|old| old.identity == identity && !look_again)
            .and_then(|old| old.content.clone());
        let content = kept.or_else(|| content.clone().filter(|_| is_alone));
        list.push(Arc::new(match content {
            None => representation,
            content => representation.with_content(content),
        }));
    }
    let to_representation = |coding: RepresentationCoding, made: MadeCoding| {
        let identity = Identity {
            length: made.content.length(),
            // No open file may be taken for it.
            device: shared.derived_device,
            ..file.identity
        };
        let representation = Representation::new(
            coding,
            file.path.clone(),
            &file.path,
            identity,
            TagBasis::Digest(made.digest),
            vary,
            cache_control.clone(),
        );
        let content = CachedContent::made(made.content);
        rules.applied_to(representation).into_made(content)
    };
    for (coding, made) in codings.made {
        let representation = with_dictionary_heads(to_representation(coding.into(), made));
        list.push(Arc::new(representation));
    }
    let dictionaries = role.map(|(role, digest)| {
        let content = (digest, file.identity.length);
        let previous = previous.and_then(|previous| previous.dictionaries.as_deref());
        let shortest = list.iter().map(|r| r.length()).min().unwrap_or(0);
        role.into_use(
            shared,
            (mount, previous),
            content,
            shortest,
            |coding, made| to_representation(coding.into(), made),
        )
    });
    let look_again = look_again || list.iter().any(|r| r.tag_basis.is_weak());
    let error_fields = rules.error_fields();
    let built = Representations::new(file, list, look_again, undecided);
    Ok(built
        .with_makeable(codings.makeable)
        .with_dictionaries(dictionaries.map(Arc::new))
        .with_error_fields(error_fields))
}

/// The sample of the version of this identity.
fn sample(
    files: &Handles<'_>,
    path: &[u8],
    identity: &Identity,
    context: ReadContext<'_>,
) -> Result<Sample, Stop> {
    let opened = files.open(path, identity, context)?;
    let sample = Sample::take(&opened.reader, identity.length, context.patience)?;
    match sample {
        Some(sample) if context.grows || is_still(&opened)? => Ok(sample),
        _ => Err(Stop::Changed),
    }
}
