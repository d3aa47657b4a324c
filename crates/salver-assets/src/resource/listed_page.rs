//! A page of a directory's entries, as a representation.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use salver_listing::{
    CONTENT_SECURITY_POLICY, Format, PAGE_LENGTH, Page, TEMPLATE_CONTENT_SECURITY_POLICY, View,
};
use salver_semantics::{ContentCoding, NO_CACHE};

use crate::error::Stop;
use crate::listing::Listing;
use crate::path::{path_of_key, variant_key};
use crate::resource::build::HeadRules;
use crate::resource::cached_content::CachedContent;
use crate::resource::directory_listing::DirectoryListing;
use crate::resource::engine_state::EngineState;
use crate::resource::entry::EntryRules;
use crate::resource::head::{Field, Head};
use crate::resource::locate::FoundFile;
use crate::resource::representation::{Representation, TagBasis, entity_tag};
use crate::resource::representation_coding::RepresentationCoding;
use crate::resource::representations::Representations;
use crate::source::{digest, in_memory, new_device};

/// The name of the policy of a page.
const POLICY: &str = "Content-Security-Policy";

/// A page that is wanted of the entries of a directory.
#[derive(Debug)]
pub(crate) struct ListedPage {
    /// The path of the request.
    path: Vec<u8>,
    listing: Arc<DirectoryListing>,
    format: Format,
    view: View,
    /// The rules for the directory, which hold for its pages.
    rules: EntryRules,
}

impl ListedPage {
    /// The page that a request for `path` with this query wants.
    pub(crate) fn new(
        path: &[u8],
        listing: &Arc<DirectoryListing>,
        (format, query): (Format, &[u8]),
        rules: &EntryRules,
    ) -> Self {
        let view = View::of_query(query);
        // Strangers choose the number: none beyond the last gets a key of its own.
        let pages = listing.entries().len().div_ceil(PAGE_LENGTH);
        let last = u32::try_from(pages.saturating_sub(1)).unwrap_or(u32::MAX);
        let page = view.page.min(last);
        ListedPage {
            path: path.to_vec(),
            listing: Arc::clone(listing),
            format,
            view: view.at_page(page),
            rules: rules.clone(),
        }
    }

    /// The key of the page, where that of the directory is `of`.
    pub(crate) fn key(&self, of: &[u8]) -> Vec<u8> {
        let (path, variant) = path_of_key(of);
        let (digest, query) = (self.listing.digest(), self.view.to_query());
        let own = format!("listing {:?} {digest:032x} {query}", self.format);
        let variant = [variant.unwrap_or_default(), b"\0", own.as_bytes()].concat();
        variant_key(path, &variant)
    }

    /// The rules for the directory.
    pub(crate) fn rules(&self) -> &EntryRules {
        &self.rules
    }

    /// The page as the one representation of the directory.
    pub(crate) fn render(
        &self,
        listing: &Listing,
        shared: &EngineState,
    ) -> Result<Representations, Stop> {
        let page = Page::new(&self.path, self.listing.entries(), &self.view);
        let page = page.with_script(listing.script());
        let (text, policy) = match (self.format, listing.template()) {
            (Format::Json, _) => (page.to_json(), None),
            (Format::Html, Some(template)) => {
                let made = template.render(&page).map_err(|error| {
                    let what = format!("the template of listings: {error}");
                    Stop::Io(io::Error::other(what))
                })?;
                (made, Some(Policy::Replaceable))
            }
            (Format::Html, None) => (
                page.to_html(),
                Some(Policy::Own(listing.script().is_some())),
            ),
        };
        let content = CachedContent::counted(shared.pool.contents.count(text.into_bytes()));
        let mut fields: Vec<Field> = vec![("Vary", Bytes::from_static(b"Accept"))];
        if let Some(Policy::Replaceable) = policy {
            fields.push((POLICY, TEMPLATE_CONTENT_SECURITY_POLICY.into()));
        }
        let path = self.path.clone();
        let made = Representation::made(path, content, self.format.content_type(), fields);
        let rules = HeadRules {
            ruling: self.rules.ruling.as_deref(),
            is_error: false,
            nosniff: shared.config.nosniff,
            path: &self.path,
        };
        let mut made = rules.applied_to(made);
        if let Some(Policy::Own(has_script)) = policy {
            set_policy(&mut made.head, has_script);
        }
        let found = FoundFile::alone(self.path.clone(), made.identity);
        let list = vec![Arc::new(made)];
        let error_fields = self
            .rules
            .ruling
            .as_ref()
            .map(|ruling| ruling.error_fields());
        let representations = Representations::new(found, list, false, false);
        Ok(representations.with_error_fields(error_fields.unwrap_or_default()))
    }
}

impl Representation {
    /// A representation that was made of the directory at `path`, with these fields besides those that all have.
    fn made(
        path: Vec<u8>,
        content: CachedContent,
        content_type: &'static str,
        more: Vec<Field>,
    ) -> Self {
        let digest = digest::of_bytes(&content.bytes);
        // Each is its own: no open file has it.
        let identity = in_memory::file(new_device(), 0, content.bytes.len(), 0).identity;
        let tag_basis = TagBasis::Digest(digest);
        let coding = RepresentationCoding::from(ContentCoding::Identity);
        let entity_tag = entity_tag(coding, &identity, tag_basis);
        let no_cache = || ("Cache-Control", Bytes::from_static(NO_CACHE.as_bytes()));
        let mut fields: Vec<Field> = vec![
            ("Content-Type", Bytes::from_static(content_type.as_bytes())),
            ("Content-Length", identity.length.to_string().into()),
            ("ETag", entity_tag.clone()),
            ("Accept-Ranges", Bytes::from_static(b"bytes")),
            no_cache(),
        ];
        let vary = more.iter().filter(|(name, _)| *name == "Vary").cloned();
        let mut not_modified = vec![("ETag", entity_tag.clone()), no_cache()];
        not_modified.extend(vary);
        fields.extend(more);
        Representation {
            coding,
            path,
            identity,
            entity_tag,
            tag_basis,
            last_modified: None,
            head: Head::new(fields),
            not_modified: Head::new(not_modified),
            dictionary_heads: None,
            is_derived: false,
            is_made: false,
            content: Some(content),
        }
    }
}

/// The policy of a page.
enum Policy {
    /// That of the page which is built in, with a script or without. It is stricter than any that a rule may say, and
    /// without it the page would have no style.
    Own(bool),
    /// That of a template, which a rule may replace.
    Replaceable,
}

fn set_policy(head: &mut Head, has_script: bool) {
    let is_other = |name: &str| !name.eq_ignore_ascii_case(POLICY);
    head.fields.retain(|(name, _)| is_other(name));
    head.added.retain(|(name, _)| is_other(name));
    let value = match has_script {
        false => Bytes::from_static(CONTENT_SECURITY_POLICY.as_bytes()),
        true => format!("{CONTENT_SECURITY_POLICY}; script-src 'self'; connect-src 'self'").into(),
    };
    head.fields.push((POLICY, value));
}
