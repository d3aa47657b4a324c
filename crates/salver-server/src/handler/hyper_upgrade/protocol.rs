//! The protocol of an extended CONNECT in hyper's type.

use http::{Method, Request};
use hyper::ext::Protocol;

use crate::handler::request_body::RequestBody;
use crate::handler::upgrade::Upgrade;

/// Adds `hyper::ext::Protocol` to an extended CONNECT, if it is the one that services know: hyper makes it of constants alone.
pub(super) fn add(upgrade: &Upgrade, request: &mut Request<RequestBody>) {
    if request.method() == Method::CONNECT && upgrade.offers("websocket") {
        let protocol = Protocol::from_static("websocket");
        request.extensions_mut().insert(protocol);
    }
}
