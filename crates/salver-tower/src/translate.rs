//! Translation between the types of the `http` crate and those of the engine.

use std::borrow::Cow;

use bytes::Bytes;
use http::header::{HOST, HeaderMap, HeaderName, HeaderValue, LOCATION};
use http::{Response, StatusCode};
use salver_assets::rules::Scheme;
use salver_assets::{Method, Protocol, Request, RequestDetails, RequestFields, ResponsePlan};

use crate::body::Body;

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
    }
}

/// The details of a request, for listings and rules. Without an authority in its target the host is that of the field.
pub(crate) fn details<B>(request: &http::Request<B>) -> RequestDetails {
    let headers = request.headers();
    let lines = headers.iter();
    let lines = lines.map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes()));
    let scheme = match request.uri().scheme_str() {
        Some("https") => Scheme::Https,
        _ => Scheme::Http,
    };
    let host = headers.get(HOST).map(HeaderValue::as_bytes);
    let authority = match request.uri().authority() {
        Some(authority) => authority.as_str().as_bytes(),
        None => host.unwrap_or_default(),
    };
    RequestDetails::new(
        scheme,
        authority,
        request.method().as_str().as_bytes(),
        lines,
    )
}

fn fields(headers: &HeaderMap) -> RequestFields<'_> {
    let mut fields = RequestFields::default();
    for (name, value) in headers {
        fields.add(name.as_str().as_bytes(), value.as_bytes());
    }
    fields
}

/// The head of a plan as it is kept with a representation.
type Lines = Vec<(HeaderName, HeaderValue)>;

/// The answer, as a plan has it. `path` is that of the request.
pub(crate) fn response(mut plan: ResponsePlan, path: &[u8]) -> Response<Body> {
    let content = std::mem::replace(&mut plan.content, salver_assets::Content::Empty);
    let mut response = Response::new(Body::new(content));
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
        && let Some(relative) = relative(location, path)
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

/// A reference to a directory in the same place, relative to the request's own path (RFC 3986
/// section 4.2): a router may have taken a prefix off that path, which nobody here knows. `None` if
/// the path was not a plain one: then what is relative to it leads to another of its odd forms.
fn relative(location: &HeaderValue, path: &[u8]) -> Option<HeaderValue> {
    let location = location.to_str().ok()?;
    let (directory, query) = match location.split_once('?') {
        Some((directory, query)) => (directory, Some(query)),
        None => (location, None),
    };
    let plain = directory.strip_suffix('/')?;
    let name = plain
        .rsplit('/')
        .next()
        .filter(|_| plain.as_bytes() == path)?;
    let query = query.map_or_else(String::new, |query| format!("?{query}"));
    HeaderValue::try_from(format!("./{name}/{query}")).ok()
}
