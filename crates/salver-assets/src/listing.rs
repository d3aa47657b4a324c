//! The setting that has directories without an index listed.

use std::sync::Arc;

use salver_listing::Template;

/// Listings of directories that have no index, as pages for people and as JSON for programs that ask for it by
/// `Accept`. A page shows a thousand entries, of a hundred thousand at most; a query chooses the order, a filter and
/// the page.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    template: Option<Arc<Template>>,
    script: Option<Arc<str>>,
}

impl Listing {
    /// The same with pages by this template.
    #[must_use]
    pub fn with_template(mut self, template: Template) -> Self {
        self.template = Some(Arc::new(template));
        self
    }

    /// The same with a script from this path of the site in each page that is not by a template. Default: none, and
    /// its policy allows none.
    #[must_use]
    pub fn with_script(mut self, path: &str) -> Self {
        self.script = Some(path.into());
        self
    }

    pub(crate) fn template(&self) -> Option<&Template> {
        self.template.as_deref()
    }

    pub(crate) fn script(&self) -> Option<&str> {
        self.script.as_deref()
    }
}
