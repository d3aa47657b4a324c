//! What stands in for upgrades by hyper's types where no service looks for these.

use http::{Request, Response};

use crate::handler::body::Body;
use crate::handler::request_body::RequestBody;

/// The upgrade of a request, which no service sees.
pub(super) struct HyperUpgrade;

/// Adds nothing.
pub(super) fn add(_: &mut Request<RequestBody>) -> HyperUpgrade {
    HyperUpgrade
}

impl HyperUpgrade {
    /// The response as it is.
    pub(super) fn finish(self, response: Response<Body>) -> Response<Body> {
        response
    }
}
