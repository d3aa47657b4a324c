//! The answer to a request, by what is behind its connection's listener.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONNECTION, HeaderName, STRICT_TRANSPORT_SECURITY};
use http::request::Parts;
use http::{HeaderValue, Response, Version};
use salver_assets::rules::Scheme;
use salver_assets::{
    Authority, CacheStatus, ClientKey, MISDIRECTED, Method, ResponsePlan, https_location,
};
use salver_tower::planned_response;

use crate::portable::answer_body::AnswerBody;
use crate::portable::request_log::LogRecord;
use crate::portable::shared::Shared;
use crate::portable::sites::{Site, authority};

/// The field that says how the cache had an answer.
const CACHE_STATUS: HeaderName = HeaderName::from_static("cache-status");

/// What a connection has answers for.
#[derive(Clone, Debug)]
pub(crate) enum Role {
    /// The files of sites, without TLS.
    Plain,
    /// The same over TLS, by the host that the client named in its handshake, empty if none.
    Secure(Arc<str>),
    /// Nothing but the way to this port, which has TLS.
    Redirect(u16),
    /// Nothing but that TLS is spoken here.
    NotTls(&'static str),
}

/// The answer to a request, which its record notes.
pub(crate) async fn respond(
    shared: &Shared,
    role: &Role,
    client: ClientKey,
    head: &Parts,
    mut record: Option<LogRecord>,
) -> Response<AnswerBody> {
    let method = Method::from_token(head.method.as_str().as_bytes());
    let (plan, site) = match role {
        Role::Plain => of_sites(shared, client, head, method, None).await,
        Role::Secure(server_name) => {
            of_sites(shared, client, head, method, Some(server_name)).await
        }
        Role::Redirect(port) => (redirect(head, *port).for_method(method), None),
        Role::NotTls(text) => {
            let plan = ResponsePlan::error(400, text, vec![]);
            (plan.for_method(method), None)
        }
    };
    if let Some(record) = &mut record {
        record.answer(&plan, site.map(|site| site.number));
    }
    let cache_status = shared.cache_status.then(|| cache_status(&plan)).flatten();
    let mut response = planned_response(plan).map(|body| AnswerBody::new(body, record));
    let headers = response.headers_mut();
    if let Some(value) = cache_status {
        headers.insert(CACHE_STATUS, value);
    }
    match role {
        Role::Plain => {}
        Role::Secure(_) => {
            let hsts = site.map_or(&shared.hsts, |site| &site.hsts);
            headers.extend(
                hsts.iter()
                    .map(|hsts| (STRICT_TRANSPORT_SECURITY, hsts.clone())),
            );
        }
        // HTTP/2 has no such field (RFC 9113 section 8.2.2).
        Role::Redirect(_) | Role::NotTls(_) if head.version >= Version::HTTP_2 => {}
        // There is no more to be had from this connection.
        Role::Redirect(_) | Role::NotTls(_) => {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
    }
    response
}

/// The plan of an answer, and the site that has it.
async fn of_sites<'s>(
    shared: &'s Shared,
    client: ClientKey,
    head: &Parts,
    method: Method,
    server_name: Option<&str>,
) -> (ResponsePlan, Option<&'s Site>) {
    let site = shared.sites.find(head, server_name, shared.tls.as_ref());
    let Some(site) = site else {
        let plan = ResponsePlan::error(421, MISDIRECTED, vec![]);
        return (plan.for_method(method), None);
    };
    if let Some(live_reload) = &shared.live_reload
        && let Some(answer) = live_reload
            .answer(&head.method, &head.uri, &head.headers)
            .await
    {
        return (own(answer).for_method(method), Some(site));
    }
    let scheme = match server_name {
        Some(_) => Scheme::Https,
        None => Scheme::Http,
    };
    let verify = |users, authorization| shared.passwords.access(client, users, authorization);
    let planned = site.assets.plan(head, scheme, verify);
    let planned = tokio::time::timeout(shared.limits.answer_timeout, planned).await;
    let plan = planned.unwrap_or_else(|_| {
        let text = "Service Unavailable: the disk did not answer in time";
        let again = vec![("Retry-After", Bytes::from_static(b"1"))];
        ResponsePlan::error(503, text, again).for_method(method)
    });
    (plan, Some(site))
}

/// The plan of an answer that the program made.
fn own(answer: Response<Bytes>) -> ResponsePlan {
    let (head, content) = answer.into_parts();
    let fields = head.headers.iter();
    let fields = fields.map(|(name, value)| {
        let value = Bytes::copy_from_slice(value.as_bytes());
        (name.as_str().into(), value)
    });
    ResponsePlan::own(head.status.as_u16(), fields.collect(), content)
}

/// The redirect to TLS.
fn redirect(head: &Parts, port: u16) -> ResponsePlan {
    let authority = authority(head);
    let path = match head.uri.path() {
        path if path.starts_with('/') => path,
        // The asterisk, or the authority of CONNECT.
        _ => "/",
    };
    let query = head.uri.query().map(str::as_bytes);
    let location = Authority::parse(authority)
        .and_then(|_| https_location(authority, path.as_bytes(), query, port));
    match location {
        Some(location) => {
            let more = vec![("Location", Bytes::from(location))];
            ResponsePlan::error(308, "Permanent Redirect", more)
        }
        None => ResponsePlan::error(400, "Bad Request: no host to redirect to", vec![]),
    }
}

/// The value of `Cache-Status` (RFC 9211 section 2), if a cache was asked.
fn cache_status(plan: &ResponsePlan) -> Option<HeaderValue> {
    let state = || plan.cache_state.map(CacheStatus::of_state);
    let status = plan.cache_status.as_deref().copied().or_else(state)?;
    let mut value = Vec::new();
    status.write("salver", &mut value);
    HeaderValue::try_from(value).ok()
}
