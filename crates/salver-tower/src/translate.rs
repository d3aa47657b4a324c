//! Translation between the types of the `http` crate and those of the engine.

mod location;

use std::borrow::Cow;

use bytes::Bytes;
use http::header::{HOST, HeaderMap, HeaderName, HeaderValue, LOCATION};
use http::{Response, StatusCode, Uri};
use salver_assets::rules::Scheme;
use salver_assets::{
    Method, Protocol, Request, RequestDetails, RequestFields, ResponsePlan, SecureContext,
};

use crate::body::Body;
use crate::load_pool::ContentReads;

/// The request as the engine reads it.
pub(crate) fn request<'a>(
    method: &http::Method,
    path: &'a [u8],
    query: Option<&'a [u8]>,
    headers: &'a HeaderMap,
) -> Request<'a> {
    Request {
        method: Method::from_token(method.as_str().as_bytes()),
        path: Cow::Borrowed(path),
        query: query.map(Cow::Borrowed),
        fields: fields(headers),
        details: None,
        secure_context: SecureContext::Insecure,
    }
}

/// Whether a request comes from a secure context, as far as the program or its target says.
pub(crate) fn secure_context<B>(asked: &http::Request<B>) -> SecureContext<'_> {
    let is_marked = asked.extensions().get::<SecureTransport>().is_some();
    match asked.uri().scheme_str() {
        Some("https") => SecureContext::Secure,
        _ if is_marked => SecureContext::Secure,
        _ => SecureContext::ByHost(authority(asked.uri(), asked.headers())),
    }
}

/// The authority that a request is for: that of its target, else that of its field.
pub(crate) fn authority<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> &'a [u8] {
    match uri.authority() {
        Some(authority) => authority.as_str().as_bytes(),
        None => headers.get(HOST).map_or(b"", HeaderValue::as_bytes),
    }
}

/// The details of a request, for listings and rules. Without an authority in its target the host is that of the field.
pub(crate) fn details(
    method: &http::Method,
    uri: &Uri,
    headers: &HeaderMap,
    scheme: Scheme,
) -> RequestDetails {
    let lines = headers.iter();
    let lines = lines.map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes()));
    let authority = authority(uri, headers);
    RequestDetails::new(scheme, authority, method.as_str().as_bytes(), lines)
}

/// The scheme of a target; of one that names none it is http.
pub(crate) fn scheme(uri: &Uri) -> Scheme {
    match uri.scheme_str() {
        Some("https") => Scheme::Https,
        _ => Scheme::Http,
    }
}

fn fields(headers: &HeaderMap) -> RequestFields<'_> {
    let mut fields = RequestFields::default();
    for (name, value) in headers {
        fields.add(name.as_str().as_bytes(), value.as_bytes());
    }
    fields
}

/// A mark that a program puts into the [extensions](http::Request::extensions) of requests that have come over TLS, or
/// of which its proxy says so, where their target does not tell, as over HTTP/1.1. Compression dictionaries are used for
/// no others, but for those to `localhost`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecureTransport;

/// The head of a plan as it is kept with a representation.
type Lines = Vec<(HeaderName, HeaderValue)>;

/// The answer, as a plan has it. `path` is that of the request; `reads` reads what is not in memory.
pub(crate) fn response(mut plan: ResponsePlan, path: &[u8], reads: ContentReads) -> Response<Body> {
    let content = std::mem::replace(&mut plan.content, salver_assets::Content::Empty);
    let mut response = Response::new(Body::new(content, reads));
    *response.status_mut() =
        StatusCode::from_u16(plan.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let lines = || plan.fields().filter_map(line);
    let kept: Option<&Lines> = plan
        .rendered_heads()
        .and_then(|prepared| prepared.head(Protocol::Library, || lines().collect()));
    let mut headers = HeaderMap::with_capacity(plan.fields().size_hint().1.unwrap_or_default());
    match kept {
        Some(kept) => headers.extend(kept.iter().cloned()),
        None => headers.extend(lines()),
    }
    if let Some(location) = headers.get_mut(LOCATION)
        && let Some(relative) = location::relative(location, path)
    {
        *location = relative;
    }
    *response.headers_mut() = headers;
    response
}

fn line((name, value): (&str, &Bytes)) -> Option<(HeaderName, HeaderValue)> {
    let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
    let value = HeaderValue::from_maybe_shared(value.clone()).ok()?;
    Some((name, value))
}
