//! What a program answers itself: handlers, guards, services, and their time limits.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
#[cfg(feature = "tower")]
use http::Response;
#[cfg(feature = "tower")]
use tower_service::Service;

use super::Builder;
#[cfg(feature = "tower")]
use crate::handler::of_service;
use crate::handler::{Handler, Reply, RequestBody, erase_streaming_type, erase_type};
#[cfg(doc)]
use crate::settings::Settings;

impl Builder {
    /// Sets the handler of requests that are for no file: paths for which the files' answer is 404, and methods other
    /// than GET and HEAD on any path. It is given the whole request, with all of its content (up to
    /// [`Settings::max_body`]) and a [`Peer`](crate::Peer) in its extensions, unless the client is gone. For content as
    /// it comes there is [`streaming_handler`](Self::streaming_handler). Its path is the client's, without
    /// dot segments and empty ones; targets that are no path (`/%00`, `/a%2Fb`) are refused before, and CONNECT is.
    ///
    /// Each path is looked up among the files before. Routes of a program's own - an API - are better off as a
    /// [`guard`](Self::guard), which goes before the files and asks no disk.
    ///
    /// It is an `async fn`, or a closure: `async |request| …` may use what it has captured, in each call.
    ///
    /// ```
    /// # use std::sync::atomic::{AtomicU64, Ordering};
    /// # use bytes::Bytes;
    /// # use http::{Request, Response};
    /// # use salver_server::Server;
    /// let calls = AtomicU64::new(0);
    /// let server = Server::builder().handler(async move |_: Request<Bytes>| {
    ///     let number = calls.fetch_add(1, Ordering::Relaxed);
    ///     Response::new(number.to_string())
    /// });
    /// ```
    ///
    /// It runs on the loop that received the request: it must not block, but may wait, within its
    /// [time limit](Self::answer_timeout); give work that blocks to `tokio::task::spawn_blocking`. It is dropped if the
    /// client withdraws the request or goes away: over HTTP/1.1 when its connection is reset, and two seconds after its
    /// side of that has ended. If it panics, the answer is 500.
    pub fn handler<F, O>(mut self, handler: F) -> Self
    where
        F: AsyncFn(Request<Bytes>) -> O + Send + Sync + 'static,
        O: Into<Reply> + 'static,
    {
        self.handlers.set_fallback(erase_type(handler));
        self
    }

    /// Adds a guard, which is asked first about every request beneath `prefix`, file or not: [`Reply::Proceed`] lets
    /// the files answer. May be said for several prefixes; the longest that fits is asked. The path is compared as it
    /// becomes a file's: decoded and without dot segments.
    ///
    /// It guards paths, not files: a file that is also found at another path (an index, a sibling such as
    /// `report.pdf.gz`, a link from elsewhere, a name in other letters where the file system does not tell them
    /// apart) is guarded by a prefix that has all of them. See [`handler`](Self::handler) for how it runs.
    pub fn guard<F, O>(self, prefix: &str, handler: F) -> Self
    where
        F: AsyncFn(Request<Bytes>) -> O + Send + Sync + 'static,
        O: Into<Reply> + 'static,
    {
        self.with_guard(prefix, erase_type(handler))
    }

    fn with_guard(mut self, prefix: &str, guard: Handler) -> Self {
        if self.handlers.add_guard(prefix, guard).is_err() {
            self.bad_prefix.get_or_insert_with(|| prefix.to_owned());
        }
        self
    }

    /// As [`handler`](Self::handler), but asked as soon as the head of the request has come; its content is a
    /// [`RequestBody`], of which no more is received than is taken. It may answer before all of that has come, and
    /// stream its own content meanwhile ([`Body::new`](crate::Body::new)).
    ///
    /// ```
    /// use http::{Request, Response};
    /// use salver_server::{Body, RequestBody, Server};
    ///
    /// // What comes goes back, piece by piece, however much it is.
    /// let server = Server::builder().streaming_handler(async |request: Request<RequestBody>| {
    ///     Response::new(Body::new(request.into_body()))
    /// });
    /// ```
    pub fn streaming_handler<F, O>(mut self, handler: F) -> Self
    where
        F: AsyncFn(Request<RequestBody>) -> O + Send + Sync + 'static,
        O: Into<Reply> + 'static,
    {
        self.handlers.set_fallback(erase_streaming_type(handler));
        self
    }

    /// As [`guard`](Self::guard), but asked as soon as the head of the request has come, as
    /// [`streaming_handler`](Self::streaming_handler) is. If it [proceeds](Reply::Proceed), the handler behind it is given
    /// the content that it has left.
    pub fn streaming_guard<F, O>(self, prefix: &str, handler: F) -> Self
    where
        F: AsyncFn(Request<RequestBody>) -> O + Send + Sync + 'static,
        O: Into<Reply> + 'static,
    {
        self.with_guard(prefix, erase_streaming_type(handler))
    }

    /// Sets a service of `tower` - a router of axum, say - as the [`streaming_handler`](Self::streaming_handler): for
    /// what is no file. Each request has a clone of it. A request's [`Peer`](crate::Peer) is in its extensions, with the
    /// feature `axum` its `ConnectInfo<SocketAddr>`, too. If the service fails, the answer is 500.
    ///
    /// ```
    /// use axum::Router;
    /// use axum::routing::get;
    /// use salver_server::Server;
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let dist = directory.path();
    /// let app: Router = Router::new().route("/api/health", get(async || "well"));
    /// let server = Server::builder().directory("/", dist).service(app);
    /// # std::io::Result::Ok(())
    /// ```
    #[cfg(feature = "tower")]
    pub fn service<S, B>(mut self, service: S) -> Self
    where
        S: Service<Request<RequestBody>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
        S::Future: 'static,
        B: http_body::Body + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.handlers.set_fallback(of_service(service));
        self
    }

    /// Sets a service that is asked first about every request beneath `prefix`, as a
    /// [`streaming_guard`](Self::streaming_guard) is: no file is looked for. It is given the whole path. May be said for
    /// several prefixes, those of guards included; the longest that fits is asked.
    #[cfg(feature = "tower")]
    pub fn service_at<S, B>(self, prefix: &str, service: S) -> Self
    where
        S: Service<Request<RequestBody>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
        S::Future: 'static,
        B: http_body::Body + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.with_guard(prefix, of_service(service))
    }

    /// Sets the time limit of handlers, guards and services for all paths beneath `prefix`, instead of
    /// [`Settings::answer_timeout`], which files that wait for a disk keep: from the call to the head of the answer, but for
    /// the time in which the handler waits for content that the client has not sent; then the answer is 503 and the handler
    /// is dropped. May be said for several prefixes; the longest that fits counts. [`Duration::MAX`]: no limit. For content
    /// that is streamed there is none: it ends when its handler or its client ends it.
    pub fn answer_timeout(mut self, prefix: &str, limit: Duration) -> Self {
        if self.handlers.add_time_limit(prefix, limit).is_err() {
            self.bad_prefix.get_or_insert_with(|| prefix.to_owned());
        }
        self
    }

    /// Has content received over HTTP/1.1 only of requests that `permits` lets send it, by the value of their one field
    /// `Authorization`: before the first byte of it, so that a stranger costs no memory. Others are answered without their
    /// content, and their connection ends. Over HTTP/2 and HTTP/3 it is received as ever. It is called on the loop, and must
    /// not block. Default: the content of all requests is received.
    pub fn permit_content(
        mut self,
        permits: impl Fn(Option<&[u8]>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.handlers.set_content_permit(Arc::new(permits));
        self
    }
}
