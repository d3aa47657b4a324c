//! Templates in a build without them: there is none.

use std::convert::Infallible;
use std::fmt;

use crate::page::Page;

/// The `Content-Security-Policy` of pages by a template.
pub const TEMPLATE_CONTENT_SECURITY_POLICY: &str = "default-src 'none'";

/// A page of the operator's own; this build has none.
#[derive(Debug)]
pub struct Template(Infallible);

/// The error of a template; this build has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError(Infallible);

impl fmt::Display for TemplateError {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {}
    }
}

impl std::error::Error for TemplateError {}

impl Template {
    /// The page by this template.
    ///
    /// # Errors
    /// None: there is no template.
    pub fn render(&self, _: &Page<'_>) -> Result<String, TemplateError> {
        match self.0 {}
    }
}
