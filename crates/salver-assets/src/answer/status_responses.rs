//! Answers that are a status alone, without any file.

use bytes::Bytes;

use crate::answer::plan::{Content, ResponsePlan};
use crate::error::LoadError;
use crate::path::{PathError, encode_path, encode_query};
use crate::request::Request;
use crate::resource::representation::Field;

/// The methods that are answered, for `Allow` (RFC 9110 section 10.2.1).
const ALLOWED: &[u8] = b"GET, HEAD, OPTIONS";

fn allow() -> Field {
    ("Allow", Bytes::from_static(ALLOWED))
}

/// The answer to OPTIONS (RFC 9110 section 9.3.7).
pub(crate) fn options() -> ResponsePlan {
    let fields = vec![allow(), ("Content-Length", Bytes::from_static(b"0"))];
    ResponsePlan::made(200, fields, Content::Empty)
}

pub(crate) fn not_allowed() -> ResponsePlan {
    ResponsePlan::error(405, "Method Not Allowed", vec![allow()])
}

pub(crate) fn not_implemented() -> ResponsePlan {
    ResponsePlan::error(501, "Not Implemented", vec![])
}

pub(crate) fn not_found() -> ResponsePlan {
    ResponsePlan::error(404, "Not Found", vec![])
}

pub(crate) fn malformed(error: PathError) -> ResponsePlan {
    match error {
        PathError::EncodedSlash => not_found(),
        PathError::NotAbsolute | PathError::BadEscape | PathError::Nul | PathError::AboveRoot => {
            ResponsePlan::error(400, "Bad Request: the path is malformed", vec![])
        }
    }
}

pub(crate) fn failed(error: LoadError) -> ResponsePlan {
    let (status, retry_after) = error.status();
    let after = |seconds: &'static str| ("Retry-After", Bytes::from_static(seconds.as_bytes()));
    let more = retry_after.map(after).into_iter().collect();
    let text = match status {
        403 => "Forbidden",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    };
    ResponsePlan::error(status, text, more)
}

/// A redirect to the same path with its slash, as a path-absolute reference (RFC 3986 section 4.2): never to
/// another host. 308 keeps the method (RFC 9110 section 15.4.9).
pub(crate) fn redirect(path: &[u8], request: &Request<'_>) -> ResponsePlan {
    let mut location = String::with_capacity(path.len() + 1);
    encode_path(path, &mut location);
    location.push('/');
    if let Some(query) = &request.query {
        location.push('?');
        encode_query(query, &mut location);
    }
    ResponsePlan::error(
        308,
        "Permanent Redirect",
        vec![("Location", location.into())],
    )
}
