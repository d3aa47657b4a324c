//! Pages with variables in the place of placeholders: read whole, and hashed as they are sent.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use salver_semantics::{ContentCoding, content_type};

use crate::error::Stop;
use crate::path::{file_name, path_of_key};
use crate::resource::build::HeadRules;
use crate::resource::cached_content::CachedContent;
use crate::resource::engine_state::EngineState;
use crate::resource::handles::{Handles, read};
use crate::resource::head::vary;
use crate::resource::load::Load;
use crate::resource::locate::FoundFile;
use crate::resource::representation::{Representation, TagBasis};
use crate::resource::representations::Representations;
use crate::source::Identity;
use crate::source::digest::{self, Digest};
use crate::source::identity::may_change_unseen;
use crate::source::snapshot::ReadContext;
use crate::variables::{LARGEST_PAGE, PageVariables, Stayed};

/// A page as it is sent.
pub(super) struct RenderedPage {
    pub(super) content: CachedContent,
    digest: Digest,
}

/// What is known of a file before siblings are looked for, which would hold its placeholders.
pub(super) enum PageState {
    /// It is sent as it is.
    Plain,
    /// It has placeholders, as when it was read last.
    Known,
    /// It has just been read.
    Rendered(RenderedPage),
}

impl Load {
    /// The state of a file as a page with placeholders. Reads it if it may be one and is not known.
    pub(super) fn page_state(
        &self,
        mount: usize,
        files: &Handles<'_>,
        file: &FoundFile,
        context: ReadContext<'_>,
    ) -> Result<PageState, Stop> {
        if self.variables(mount, file).is_none() {
            return Ok(PageState::Plain);
        }
        let known = self.previous.as_ref();
        let known = known.and_then(|previous| previous.entry.resource.representations());
        let known = known.filter(|known| {
            known.found.path == file.path
                && known.found.identity == file.identity
                && !known.look_again
        });
        Ok(match known {
            Some(known) if known.list.iter().any(|r| r.is_derived) => PageState::Known,
            Some(_) => PageState::Plain,
            None => match self.render(mount, files, file, context)? {
                Some(page) => PageState::Rendered(page),
                None => PageState::Plain,
            },
        })
    }

    /// The variables that may be put into a file: it is HTML, and not too long.
    fn variables(&self, mount: usize, file: &FoundFile) -> Option<&PageVariables> {
        let variables = self.shared.mounts.get(mount)?.variables.as_deref()?;
        let is_page = content_type(file_name(&file.path)).starts_with("text/html");
        (is_page && file.identity.length <= LARGEST_PAGE).then_some(variables)
    }

    /// Reads a page and puts variables into it; `None` if it has no place for any.
    pub(super) fn render(
        &self,
        mount: usize,
        files: &Handles<'_>,
        file: &FoundFile,
        context: ReadContext<'_>,
    ) -> Result<Option<RenderedPage>, Stop> {
        let shared = &*self.shared;
        let Some(variables) = self.variables(mount, file) else {
            return Ok(None);
        };
        let cached = shared.is_cached(&self.key);
        // It has to be in memory, whoever reads it how slowly.
        if shared.situation(&file.identity, cached).memory_is_full {
            return Err(Stop::Io(io::ErrorKind::OutOfMemory.into()));
        }
        let opened = files.open(&file.path, &file.identity, context)?;
        let read = read(shared, &opened, context)?;
        let rendered = variables.put_into(&read.bytes);
        let now = shared.since_epoch(context.since);
        for stayed in &rendered.stayed {
            say(shared, &self.key, stayed, now);
        }
        Ok(rendered.page.map(|page| RenderedPage {
            digest: digest::of_bytes(&page),
            content: CachedContent::counted(shared.pool.contents.count(page)),
        }))
    }
}

/// Builds the representations of a page: there is one.
pub(super) fn build(
    shared: &EngineState,
    mount: usize,
    files: &Handles<'_>,
    file: FoundFile,
    page: RenderedPage,
    rules: HeadRules<'_>,
    context: ReadContext<'_>,
) -> Representations {
    let RenderedPage { content, digest } = page;
    let now = shared.since_epoch(context.since);
    let identity = Identity {
        length: u64::try_from(content.bytes.len()).unwrap_or(u64::MAX),
        // No open file may be taken for it.
        device: shared.derived_device,
        ..file.identity
    };
    let representation = Representation::new(
        ContentCoding::Identity,
        file.path.clone(),
        &file.path,
        identity,
        TagBasis::Digest(digest),
        vary(file.is_by_accept(), false),
        shared.cache_control(mount, files.name_of(&file), now),
    );
    let representation = rules.applied_to(representation).into_derived(content);
    let look_again = may_change_unseen(&file.identity);
    let error_fields = rules.error_fields();
    let list = vec![Arc::new(representation)];
    let built = Representations::new(file, list, look_again, false);
    built.with_error_fields(error_fields)
}

/// Logs why a placeholder stayed, for whoever wrote the page.
fn say(shared: &EngineState, key: &[u8], (name, why): &(String, Stayed), now: Duration) {
    let log = &shared.pool.log;
    let (path, _) = path_of_key(key);
    if !log.first(&log.placeholders, now, (path, name, why)) {
        return;
    }
    let why = match why {
        Stayed::NotListed => "pages may not see that variable: add it to env.variables",
        Stayed::Unsafe => {
            "what it says would be markup, code or style there: put it into text, an attribute or a string of a script"
        }
        Stayed::TooLong => "the page would be too long",
    };
    tracing::warn!(
        "{}: [[env.{name}]] stays as it is: {why}",
        shared.place(path)
    );
}
