//! The HTTP client by which buckets and issuers of credentials are asked: HTTP/1.1 on hyper, TLS by rustls.

use std::collections::HashMap;
use std::error::Error as _;
use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use http_body_util::{BodyExt as _, Limited};
use hyper::HeaderMap;
use hyper::body::Incoming;
use hyper::header::{ETAG, RANGE};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector as TcpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
    HttpResponse, HttpResponseBody, HttpService,
};
use object_store::{ClientConfigKey, ClientOptions};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::{ClientConfig, RootCertStore};
use tokio::runtime::{Handle, Id};

/// The most time that a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(3);

/// The time after which a connection that nobody uses is closed: sooner than stores do.
const IDLE: Duration = Duration::from_secs(15);

/// The most connections that wait for their next request.
const MOST_IDLE: usize = 64;

/// The most clients that are kept: one for each event loop, and a few more.
const MOST_CLIENTS: usize = 256;

/// The bytes that are read of an answer at once, and the most that its head may have: most short files come with theirs.
const READ: usize = 64 * 1024;

/// The most bytes that are taken of one answer: twice the longest slice, and more than any page of a list has.
const LONGEST_BODY: usize = 16 * 1024 * 1024;

/// The bytes that are taken of an answer which is a refusal: what has to be known stands at its beginning.
const LONGEST_REFUSAL: usize = 4 * 1024;

/// A maker of clients whose requests are answered within a time, or fail.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Connector {
    /// The most time until the head of an answer is there.
    pub(crate) head_timeout: Duration,
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let mut tcp = TcpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT.min(self.head_timeout)));
        let tls = HttpsConnectorBuilder::new().with_tls_config(tls_config()?);
        let allows_http = options.get_config_value(&ClientConfigKey::AllowHttp);
        let connector = match allows_http.as_deref() {
            Some("true") => tls.https_or_http().enable_http1().wrap_connector(tcp),
            _ => tls.https_only().enable_http1().wrap_connector(tcp),
        };
        Ok(HttpClient::new(Service {
            connector,
            clients: Mutex::default(),
            head_timeout: self.head_timeout,
        }))
    }
}

type HyperClient = Client<HttpsConnector<TcpConnector>, HttpRequestBody>;

/// A client that gives up what takes too long.
#[derive(Debug)]
struct Service {
    connector: HttpsConnector<TcpConnector>,
    /// One for each runtime that asks: its connections go on only while that does.
    clients: Mutex<HashMap<Id, HyperClient>>,
    head_timeout: Duration,
}

impl Service {
    /// The client of the runtime that asks.
    fn client(&self) -> HyperClient {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let asks = Handle::current().id();
        if clients.len() >= MOST_CLIENTS && !clients.contains_key(&asks) {
            // Most are of runtimes that have ended.
            clients.clear();
        }
        let client = clients.entry(asks).or_insert_with(|| {
            Client::builder(TokioExecutor::new())
                .pool_timer(TokioTimer::new())
                .pool_idle_timeout(IDLE)
                .pool_max_idle_per_host(MOST_IDLE)
                .http1_read_buf_exact_size(READ)
                .build(self.connector.clone())
        });
        client.clone()
    }
}

#[async_trait]
impl HttpService for Service {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let range = request.headers().get(RANGE);
        let goes_on = range.is_some_and(|range| !range.as_bytes().starts_with(b"bytes=0-"));
        let answer = self.client().request(request);
        let answer = tokio::time::timeout(self.head_timeout, answer).await;
        let response = match answer {
            Ok(response) => response.map_err(|error| HttpError::new(kind(&error), error))?,
            Err(elapsed) => return Err(HttpError::new(HttpErrorKind::Timeout, elapsed)),
        };
        let (parts, body) = response.into_parts();
        if !parts.status.is_success() {
            let text = tokio::time::timeout(self.head_timeout, beginning(body)).await;
            let text = text.unwrap_or_default();
            return Ok(HttpResponse::from_parts(parts, text.into()));
        }
        // RFC 9110 section 15.3.7.3: parts are put together only if they have one strong validator. The client has the rest
        // come of what was cut, too, under any tag.
        if goes_on && !has_strong_tag(&parts.headers) {
            let told = "a part of a file without a strong ETag, which may be of another version";
            return Err(HttpError::new(
                HttpErrorKind::Interrupted,
                io::Error::other(told),
            ));
        }
        let body = Limited::new(body, LONGEST_BODY);
        let body = body
            .map_err(|error| HttpError::new(HttpErrorKind::Interrupted, io::Error::other(error)));
        Ok(HttpResponse::from_parts(parts, HttpResponseBody::new(body)))
    }
}

/// True if an answer has an entity tag that no two versions share (RFC 9110 section 8.8.1).
fn has_strong_tag(fields: &HeaderMap) -> bool {
    fields
        .get(ETAG)
        .is_some_and(|tag| !tag.is_empty() && !tag.as_bytes().starts_with(b"W/"))
}

/// The beginning of a body, as text whatever it is, and as far as it comes: the status above it counts in any case.
async fn beginning(mut body: Incoming) -> String {
    let mut bytes = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        let data = frame.into_data().unwrap_or_default();
        let room = LONGEST_REFUSAL.saturating_sub(bytes.len());
        bytes.extend(data.iter().take(room));
        if bytes.len() >= LONGEST_REFUSAL {
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether a request that failed was on its way already.
fn kind(error: &Error) -> HttpErrorKind {
    if error.is_connect() {
        return HttpErrorKind::Connect;
    }
    let mut cause = error.source();
    while let Some(error) = cause {
        let of_system = error.downcast_ref::<io::Error>();
        if of_system.is_some_and(|error| error.kind() == io::ErrorKind::TimedOut) {
            return HttpErrorKind::Timeout;
        }
        cause = error.source();
    }
    HttpErrorKind::Interrupted
}

/// The settings of TLS, with the certificates that this machine trusts. They are read once: later the process may no
/// longer be allowed to.
fn tls_config() -> object_store::Result<ClientConfig> {
    static TRUSTED: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    let trusted = TRUSTED.get_or_init(|| {
        let mut trusted = RootCertStore::empty();
        let found = rustls_native_certs::load_native_certs();
        trusted.add_parsable_certificates(found.certs);
        Arc::new(trusted)
    });
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| object_store::Error::Generic {
            store: "TLS",
            source: Box::new(error),
        })?;
    Ok(builder
        .with_root_certificates(Arc::clone(trusted))
        .with_no_client_auth())
}
