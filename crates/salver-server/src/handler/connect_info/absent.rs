//! The address of the client where no framework's extractor wants it: it is in `Peer`.

use http::Request;

use super::request_body::RequestBody;

pub(super) fn add(_: &mut Request<RequestBody>) {}
