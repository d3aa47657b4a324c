//! What stands in for hyper's type of protocols where hyper has none.

use http::Request;

use crate::handler::request_body::RequestBody;
use crate::handler::upgrade::Upgrade;

/// Adds nothing.
pub(super) fn add(_: &Upgrade, _: &mut Request<RequestBody>) {}
