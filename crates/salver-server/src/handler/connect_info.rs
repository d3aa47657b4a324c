//! The address of the client for axum's extractor `ConnectInfo<SocketAddr>`.

use axum::extract::ConnectInfo;
use http::Request;

use super::peer::Peer;
use super::request_body::RequestBody;

/// Adds what axum's extractor reads, beside [`Peer`].
pub(super) fn add(request: &mut Request<RequestBody>) {
    if let Some(peer) = request.extensions().get::<Peer>().copied() {
        request.extensions_mut().insert(ConnectInfo(peer.address));
    }
}
