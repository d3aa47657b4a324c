//! Dispatching a request by its method and its path: to a file, or to an answer in which no file takes part.

use salver_semantics::{Method, RequestPath};

use crate::answer::plan::ResponsePlan;
use crate::answer::status_responses;
use crate::config::MountMatch;
use crate::engine::Engine;
use crate::path::is_hidden;
use crate::pending::AskedKey;
use crate::request::Request;

impl Engine {
    /// The result of `ask` for the path of a request, or of `respond` for an answer in which no file takes part.
    #[inline]
    pub(crate) fn at_path<T>(
        &self,
        request: &Request<'_>,
        respond: impl FnOnce(ResponsePlan) -> T,
        ask: impl FnOnce(&RequestPath<'_>, AskedKey) -> T,
    ) -> T {
        let status = match request.method {
            Method::Get | Method::Head => match RequestPath::parse(&request.path) {
                Ok(path) if self.hides(&path) => 404,
                Ok(path) => return ask(&path, AskedKey::Path),
                Err(error) => error.status(),
            },
            Method::Options => match RequestPath::parse(&request.path) {
                Ok(path) if self.has_rules_at(&path) => return ask(&path, AskedKey::Options),
                Ok(_) | Err(_) => return respond(status_responses::options()),
            },
            Method::Post
            | Method::Put
            | Method::Delete
            | Method::Patch
            | Method::Connect
            | Method::Trace => 405,
            Method::Other => 501,
        };
        if self.shared.has_rules() {
            // Where there is no such path, the pages are those of the root.
            let path = RequestPath::parse(&request.path).or_else(|_| RequestPath::parse(b"/"));
            if let Ok(path) = path {
                return ask(&path, AskedKey::Refusal(status));
            }
        }
        respond(status_responses::refusal(status).for_method(request.method))
    }

    /// True if rules may have something to say of OPTIONS.
    fn has_rules_at(&self, path: &RequestPath<'_>) -> bool {
        let number = self.shared.mounts.number_of(path.as_bytes());
        number.is_some_and(|number| self.shared.rules(number).is_some()) && !self.hides(path)
    }

    /// True if what is at a path is not served because its name, or that of a directory before it, begins
    /// with a dot.
    fn hides(&self, path: &RequestPath<'_>) -> bool {
        path.has_dot_segment()
            && !self.shared.config.dotfiles
            && match self.shared.mounts.find_mount(path.as_bytes()) {
                MountMatch::Within(_, relative) => is_hidden(&relative),
                MountMatch::Redirect | MountMatch::Nowhere => false,
            }
    }
}
