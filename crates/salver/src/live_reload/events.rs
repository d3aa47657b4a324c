//! Answers to pages: the script, and the events that it waits for.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, Method, Response, StatusCode, Uri};

use super::SCRIPT;
use super::changes::{ChangeLog, Changes, News, Since};

/// The path of the events.
const EVENTS: &str = "/.salver/live-reload";

/// The script of pages.
const TEXT: &str = include_str!("script.js");

/// The longest time for which an answer is held back: proxies give up on silence after half a minute.
const HOLD: Duration = Duration::from_secs(20);

/// The answers that are held back at a time, at most.
const MOST_WAITING: usize = 256;

/// The age of a page that is believed, at most.
const OLDEST: Duration = Duration::from_secs(60);

/// The events, and who waits for them.
pub(super) struct Events {
    changes: Arc<Changes>,
    hold: Duration,
    waiting: AtomicUsize,
}

impl Events {
    pub(super) fn new(changes: Arc<Changes>, answer_timeout: Duration) -> Self {
        Events {
            changes,
            hold: HOLD.min(answer_timeout / 2),
            waiting: AtomicUsize::new(0),
        }
    }

    /// The answer to a request; `None` if it is for a file.
    pub(super) async fn answer(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Option<Response<Bytes>> {
        let is_read = [Method::GET, Method::HEAD].contains(method);
        match uri.path() {
            SCRIPT if is_read => {
                let script = "text/javascript; charset=utf-8";
                Some(response(StatusCode::OK, script, TEXT))
            }
            EVENTS if is_read => Some(self.next(uri, headers).await),
            _ => None,
        }
    }

    /// The next event, once there is one.
    async fn next(&self, uri: &Uri, headers: &HeaderMap) -> Response<Bytes> {
        let Some(_place) = Place::take(&self.waiting) else {
            let mut full = response(
                StatusCode::SERVICE_UNAVAILABLE,
                "text/plain; charset=utf-8",
                "too many pages wait for changes\n",
            );
            let again = http::HeaderValue::from_static("1");
            full.headers_mut().insert(RETRY_AFTER, again);
            return full;
        };
        let mut log = self.changes.subscribe();
        let since = self.since(uri, headers);
        let first = {
            let log = log.borrow_and_update();
            let event = self.event(&log, since);
            // A page that knows nothing yet is told where it is.
            event.or_else(|| self.greeting(&log, since))
        };
        if let Some(event) = first {
            return self.stream(&event);
        }
        let is_news = |log: &ChangeLog| log.has_ended() || log.news(since) != News::None;
        let waiting = tokio::time::timeout(self.hold, log.wait_for(is_news));
        let event = match waiting.await {
            Ok(Ok(log)) => self.event(&log, since),
            _ => None,
        };
        self.stream(&event.unwrap_or_default())
    }

    /// The point from which on a page wants to hear of changes: after the last event that it had, or since it was
    /// asked for.
    fn since(&self, uri: &Uri, headers: &HeaderMap) -> Since {
        if let Some(id) = headers.get("last-event-id") {
            return self.changes.since(id.to_str().unwrap_or_default());
        }
        let query = uri.query().unwrap_or_default();
        let age = query.strip_prefix("age=").and_then(|age| age.parse().ok());
        let age = Duration::from_millis(age.unwrap_or(0)).min(OLDEST);
        let now = Instant::now();
        Since::Moment(now.checked_sub(age).unwrap_or(now))
    }

    /// The event for what has changed since; `None` if nothing has.
    fn event(&self, log: &ChangeLog, since: Since) -> Option<String> {
        let News::Changed(paths) = log.news(since) else {
            return None;
        };
        let data = serde_json::json!({ "paths": paths });
        let id = self.changes.id(log);
        Some(format!("id: {id}\nevent: change\ndata: {data}\n\n"))
    }

    /// The event for a page that has had none: without it, it could not say later what it knows.
    fn greeting(&self, log: &ChangeLog, since: Since) -> Option<String> {
        match since {
            Since::Moment(_) => {
                let id = self.changes.id(log);
                Some(format!("id: {id}\nevent: ready\ndata:\n\n"))
            }
            Since::Number(_) | Since::OtherRun => None,
        }
    }

    /// A stream with this event, after which the browser asks again in a moment.
    fn stream(&self, event: &str) -> Response<Bytes> {
        let text = format!("retry: 100\n\n{event}");
        response(StatusCode::OK, "text/event-stream", text)
    }
}

fn response(
    status: StatusCode,
    content_type: &'static str,
    text: impl Into<Bytes>,
) -> Response<Bytes> {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    let fields = response.headers_mut();
    fields.insert(CONTENT_TYPE, http::HeaderValue::from_static(content_type));
    fields.insert(CACHE_CONTROL, http::HeaderValue::from_static("no-store"));
    response
}

/// A place among those who wait.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(waiting: &'a AtomicUsize) -> Option<Self> {
        let next = |count| (count < MOST_WAITING).then_some(count + 1);
        let relaxed = Ordering::Relaxed;
        waiting.fetch_update(relaxed, relaxed, next).ok()?;
        Some(Place(waiting))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bounded_and_given_back() {
        let waiting = AtomicUsize::new(0);
        let places: Vec<_> = std::iter::from_fn(|| Place::take(&waiting)).collect();
        assert_eq!(places.len(), MOST_WAITING);
        drop(places);
        assert_eq!(waiting.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn nobody_waits_for_longer_than_an_answer_may_take() {
        let hold =
            |timeout| Events::new(Arc::new(Changes::new()), Duration::from_secs(timeout)).hold;
        assert_eq!(hold(30), Duration::from_secs(15));
        assert_eq!(hold(3600), HOLD);
    }
}
