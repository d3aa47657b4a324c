//! Answers that are a status alone, without any file.

use bytes::Bytes;

use salver_semantics::{encode_path, encode_query};

use crate::answer::plan::{Content, ResponsePlan};
use crate::error::LoadError;
use crate::request::Request;
use crate::resource::head::Field;

/// The methods that are answered, for `Allow` (RFC 9110 section 10.2.1).
pub(crate) const ALLOWED: &str = "GET, HEAD, OPTIONS";

fn allow() -> Field {
    ("Allow", Bytes::from_static(ALLOWED.as_bytes()))
}

/// The answer to OPTIONS (RFC 9110 section 9.3.7).
pub(crate) fn options() -> ResponsePlan {
    let fields = vec![allow(), ("Content-Length", Bytes::from_static(b"0"))];
    ResponsePlan::made(200, fields, Content::Empty)
}

/// The answer to a request that is refused with this status, whatever is at its path.
pub(crate) fn refusal(status: u16) -> ResponsePlan {
    match status {
        400 => ResponsePlan::error(400, "Bad Request: the path is malformed", vec![]),
        405 => ResponsePlan::error(405, "Method Not Allowed", vec![allow()]),
        status => error(status),
    }
}

pub(crate) fn not_found() -> ResponsePlan {
    ResponsePlan::error(404, "Not Found", vec![])
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
    ResponsePlan::error(status, text, more).with_failure(error)
}

/// An error by a rule, or by a part of one that the request fills in.
pub(crate) fn error(status: u16) -> ResponsePlan {
    ResponsePlan::error(status, reason(status), vec![])
}

/// The words for a status.
fn reason(status: u16) -> &'static str {
    match status {
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        410 => "Gone",
        414 => "URI Too Long",
        429 => "Too Many Requests",
        451 => "Unavailable For Legal Reasons",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        _ => "Error",
    }
}

/// A redirect.
pub(crate) fn redirect_to(status: u16, location: String) -> ResponsePlan {
    ResponsePlan::error(status, reason(status), vec![("Location", location.into())])
}

/// A redirect to the same path with its slash.
pub(crate) fn redirect(path: &[u8], request: &Request<'_>) -> ResponsePlan {
    moved(&[path, b"/"].concat(), request)
}

/// A redirect to another path, as a path-absolute reference (RFC 3986 section 4.2): never to another host. 308 keeps
/// the method (RFC 9110 section 15.4.9), and the query stays.
pub(crate) fn moved(path: &[u8], request: &Request<'_>) -> ResponsePlan {
    let mut location = String::with_capacity(path.len());
    encode_path(path, &mut location);
    if let Some(query) = &request.query {
        location.push('?');
        encode_query(query, &mut location);
    }
    redirect_to(308, location)
}
