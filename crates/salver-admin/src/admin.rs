//! The paths of the admin listener, and their answers.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use http::{Method, Request, Response, StatusCode};
use serde_json::json;

use crate::access::{Need, Refusal, check, is_password, is_shown};
use crate::bucket_events::{EventCounters, LONGEST_NOTIFICATION, Notification};
use crate::deploys::{DeployPlace, Deploys};
use crate::exposition::Format;
use crate::families::render;
use crate::page;
use crate::process::Process;
use crate::query::{encoded_path, from_hexadecimal, hexadecimal, parameter};
use crate::status::{Loop, Requests, State, Status};
use crate::subject::{CacheQuery, Purge, Reloaded, Subject};
use crate::token::Token;

/// The silence after which a loop counts as one that hangs.
const HANGS: Duration = Duration::from_secs(30);

/// The entries of a page of the cache, unless it is said.
const PAGE: usize = 100;

/// The most entries of a page.
const MOST: usize = 1000;

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

/// The handler of all requests to the admin listener.
pub struct Admin {
    subject: Arc<dyn Subject>,
    token: Option<Token>,
    deploys: Option<Arc<dyn Deploys>>,
    events: EventCounters,
}

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Asset(&'static page::Asset),
    Metrics,
    Live,
    Ready,
    Status,
    Cache,
    Purge,
    Pause(bool),
    BucketEvents,
    Reload,
    Deploys(DeployPlace),
}

impl Place {
    fn at(path: &str) -> Option<Self> {
        if let Some(place) = DeployPlace::at(path) {
            return Some(Place::Deploys(place));
        }
        Some(match path {
            "/metrics" => Place::Metrics,
            "/live" => Place::Live,
            "/ready" => Place::Ready,
            "/status" => Place::Status,
            "/cache" => Place::Cache,
            "/cache/purge" => Place::Purge,
            "/cache/pause" => Place::Pause(true),
            "/cache/resume" => Place::Pause(false),
            "/bucket-events" => Place::BucketEvents,
            "/reload" => Place::Reload,
            _ => Place::Asset(page::find(path)?),
        })
    }

    /// What changes something is asked for by POST, all else by GET.
    fn allow(self) -> &'static str {
        match self {
            Place::Purge | Place::Pause(_) | Place::BucketEvents | Place::Reload => "POST",
            Place::Deploys(place) if place.method() == Method::POST => "POST",
            Place::Deploys(_) => "GET",
            _ => "GET, HEAD",
        }
    }

    fn need(self) -> Need {
        match self {
            Place::Asset(_) => Need::Page,
            Place::Live | Place::Ready => Need::Nothing,
            Place::BucketEvents => Need::TokenOrPassword,
            _ => Need::Token,
        }
    }
}

impl Admin {
    /// The handler for a server. With a token, who does not show it is told nothing but whether the server lives.
    pub fn new(subject: Arc<dyn Subject>, token: Option<Token>) -> Self {
        Admin {
            subject,
            token,
            deploys: None,
            events: EventCounters::default(),
        }
    }

    /// Has orders for releases carried out, of who shows the token; without one nobody may.
    #[must_use]
    pub fn with_deploys(mut self, deploys: Arc<dyn Deploys>) -> Self {
        self.deploys = Some(deploys);
        self
    }

    /// True if who sends this value of `Authorization` may send content: no more of a stranger's requests is received
    /// than their heads. Where there is no token nobody is one.
    pub fn permits_content(&self, authorization: Option<&[u8]>) -> bool {
        let shows = |token| {
            authorization.is_some_and(|shown| is_shown(shown, token) || is_password(shown, token))
        };
        self.token.as_ref().is_none_or(shows)
    }

    /// The response to a request. It may take its time: not for an event loop.
    pub fn respond(&self, request: &Request<Bytes>) -> Response<Bytes> {
        protected(self.answer(request))
    }

    fn answer(&self, request: &Request<Bytes>) -> Response<Bytes> {
        let place = Place::at(request.uri().path());
        let need = place.map_or(Need::Token, Place::need);
        if let Err(refusal) = check(request, self.token.as_ref(), need) {
            return refused(refusal);
        }
        let Some(place) = place else {
            return text(
                StatusCode::NOT_FOUND,
                "Not Found: / has a page that leads on",
            );
        };
        let method = request.method().as_str();
        if !place.allow().split(", ").any(|allowed| allowed == method) {
            let message = format!("Method Not Allowed: ask by {}", place.allow());
            let mut response = text(StatusCode::METHOD_NOT_ALLOWED, &message);
            let allow = HeaderValue::from_static(place.allow());
            response.headers_mut().insert(ALLOW, allow);
            return response;
        }
        match place {
            Place::Deploys(place) => self.deploy(place, request),
            Place::Asset(asset) => response(StatusCode::OK, asset.content_type, asset.content),
            Place::Metrics => self.metrics(request),
            Place::Live => self.live(),
            Place::Ready => match self.subject.state() {
                State::Ready => text(StatusCode::OK, "ready"),
                state => text(StatusCode::SERVICE_UNAVAILABLE, state.name()),
            },
            Place::Status => match serde_json::to_string(&self.status()) {
                Ok(status) => response(StatusCode::OK, JSON, status),
                Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
            },
            Place::Cache => self.cache(request),
            Place::Purge => self.purge(request),
            Place::BucketEvents => self.bucket_events(request.body()),
            Place::Pause(paused) => {
                self.subject.pause(paused);
                response(
                    StatusCode::OK,
                    JSON,
                    json!({ "paused": paused }).to_string(),
                )
            }
            Place::Reload => match self.subject.reload() {
                Reloaded::Done(message) => {
                    let done = json!({ "reloaded": true, "message": message });
                    response(StatusCode::OK, JSON, done.to_string())
                }
                Reloaded::Refused(message) => text(StatusCode::CONFLICT, &message),
                Reloaded::Unsupported => text(
                    StatusCode::NOT_IMPLEMENTED,
                    "this server does not read its configuration again: restart it",
                ),
            },
        }
    }

    fn deploy(&self, place: DeployPlace, request: &Request<Bytes>) -> Response<Bytes> {
        // Whoever may look at this machine's metrics may not change its sites for that.
        let Some(deploys) = self.deploys.as_ref().filter(|_| self.token.is_some()) else {
            let message = "Forbidden: this server takes no deploys: it needs --accept-deploys, a token and a store";
            return text(StatusCode::FORBIDDEN, message);
        };
        let order = place.order(request);
        match order.and_then(|order| deploys.carry_out(order, request.body())) {
            Ok(done) => response(StatusCode::OK, JSON, done.to_string()),
            Err(refusal) => text(refusal.status, &refusal.message),
        }
    }

    fn bucket_events(&self, content: &[u8]) -> Response<Bytes> {
        if content.len() > LONGEST_NOTIFICATION {
            self.events.count_refused();
            let message = format!("Content Too Large: {LONGEST_NOTIFICATION} bytes at most");
            return text(StatusCode::PAYLOAD_TOO_LARGE, &message);
        }
        match Notification::parse(content) {
            Ok(Notification::Changes(changes)) => {
                let ignored = self.subject.bucket_changed(&changes);
                self.events.count(&changes, ignored);
            }
            Ok(Notification::Confirmation(url)) => self.subject.bucket_events_offered(&url),
            Err(fault) => {
                self.events.count_refused();
                return bad_request(&fault);
            }
        }
        // Without content, as some who send events never read an answer: their connection would be of no use to them.
        let mut done = Response::new(Bytes::new());
        *done.status_mut() = StatusCode::NO_CONTENT;
        done
    }

    fn status(&self) -> Status {
        let subject = &*self.subject;
        let metrics = subject.metrics();
        Status {
            version: subject.version().to_owned(),
            state: subject.state(),
            uptime_seconds: metrics.uptime().as_secs(),
            requests: Requests::of(&metrics.requests()),
            cache: subject.cache(),
            bucket_events: self.events.now(),
            loops: metrics.lags().iter().map(Loop::of).collect(),
            loader: subject.loader(),
            connections: subject.connections(),
            certificates: subject.certificates(),
            log: subject.log(),
            process: Process::now(),
        }
    }

    fn metrics(&self, request: &Request<Bytes>) -> Response<Bytes> {
        let accepts = request.headers().get_all(ACCEPT).iter();
        let accepts: Vec<&str> = accepts.filter_map(|value| value.to_str().ok()).collect();
        let format = Format::of_accept(&accepts.join(","));
        let metrics = self.subject.metrics();
        let rendered = render(format, &self.status(), &metrics.requests(), &metrics.lags());
        response(StatusCode::OK, format.content_type(), rendered)
    }

    fn live(&self) -> Response<Bytes> {
        let lags = self.subject.metrics().lags();
        let hanging = lags.iter().filter(|lag| lag.silent > HANGS).count();
        match hanging {
            0 => text(StatusCode::OK, "live"),
            some => text(
                StatusCode::SERVICE_UNAVAILABLE,
                &format!("{some} of {} loops hang", lags.len()),
            ),
        }
    }

    fn cache(&self, request: &Request<Bytes>) -> Response<Bytes> {
        let query = request.uri().query();
        let limit = match parameter(query, "limit") {
            None => Some(PAGE),
            Some(limit) => str::from_utf8(&limit)
                .ok()
                .and_then(|limit| limit.parse().ok()),
        };
        let after = match parameter(query, "after") {
            None => Some(None),
            Some(after) => from_hexadecimal(&after).map(Some),
        };
        let (Some(limit @ 1..=MOST), Some(after)) = (limit, after) else {
            let message = "Bad Request: limit is a number from 1 to 1000, after what `next` was";
            return text(StatusCode::BAD_REQUEST, message);
        };
        let page = self.subject.cached(&CacheQuery {
            after,
            prefix: parameter(query, "prefix").unwrap_or_default(),
            site: site(query),
            limit,
        });
        let page = match page {
            Ok(page) => page,
            Err(fault) => return bad_request(&fault),
        };
        let last = page.entries.last().filter(|_| page.has_more);
        let next = last.map(|last| hexadecimal(&last.key));
        let entries = page.entries.iter().map(|entry| {
            json!({
                "site": entry.site,
                "path": encoded_path(&entry.path),
                "kind": entry.kind,
                "bytes": entry.bytes,
                "files": entry.files,
            })
        });
        let entries: Vec<_> = entries.collect();
        let body = json!({ "entries": entries, "next": next });
        response(StatusCode::OK, JSON, body.to_string())
    }

    fn purge(&self, request: &Request<Bytes>) -> Response<Bytes> {
        let query = request.uri().query();
        let said = [
            parameter(query, "path").map(Purge::Path),
            parameter(query, "prefix").map(Purge::Prefix),
            parameter(query, "group").map(Purge::Group),
            parameter(query, "all").map(|_| Purge::All),
        ];
        let mut said = said.into_iter().flatten();
        let (Some(what), None) = (said.next(), said.next()) else {
            let message = "Bad Request: say one of path=/…, prefix=/…/, group=… and all";
            return text(StatusCode::BAD_REQUEST, message);
        };
        match self.subject.purge(&what, site(query).as_deref()) {
            Ok(entries) => response(
                StatusCode::OK,
                JSON,
                json!({ "purged": entries }).to_string(),
            ),
            Err(fault) => bad_request(&fault),
        }
    }
}

fn refused(refusal: Refusal) -> Response<Bytes> {
    match refusal {
        Refusal::Host => text(
            StatusCode::MISDIRECTED_REQUEST,
            "Misdirected Request: call this listener by its address or localhost, or show its token",
        ),
        Refusal::CrossSite => text(
            StatusCode::FORBIDDEN,
            "Forbidden: another site has made this request",
        ),
        Refusal::Token => unauthorized(
            "Bearer realm=\"salver\"",
            "Unauthorized: show the token, as Authorization: Bearer TOKEN",
        ),
        Refusal::Password => unauthorized(
            "Basic realm=\"salver\"",
            "Unauthorized: show the token, as Authorization: Bearer TOKEN, or as the password of https://events:TOKEN@…",
        ),
    }
}

fn unauthorized(challenge: &'static str, message: &str) -> Response<Bytes> {
    let mut response = text(StatusCode::UNAUTHORIZED, message);
    let challenge = HeaderValue::from_static(challenge);
    response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    response
}

/// The name of the site that a query is for; none if it is for all.
fn site(query: Option<&str>) -> Option<String> {
    let name = parameter(query, "site")?;
    Some(String::from_utf8_lossy(&name).into_owned())
}

fn bad_request(fault: &str) -> Response<Bytes> {
    text(StatusCode::BAD_REQUEST, &format!("Bad Request: {fault}"))
}

fn text(status: StatusCode, line: &str) -> Response<Bytes> {
    response(status, TEXT, format!("{line}\n"))
}

fn response(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> Response<Bytes> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let content_type = HeaderValue::from_static(content_type);
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

/// Adds what every answer has: nobody keeps it, frames it or takes it for something else.
fn protected(mut response: Response<Bytes>) -> Response<Bytes> {
    for (name, value) in [
        ("cache-control", "no-store"),
        ("content-security-policy", page::POLICY),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
    ] {
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    response
}

#[cfg(test)]
mod tests;
