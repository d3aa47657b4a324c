//! The tower services: from a request to a response.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response};
use salver_assets::{EngineReply, target_of};
use tower_service::Service;

use crate::assets::Assets;
use crate::body::Body;
use crate::driver::{EngineHandle, Engines, no_rules};
use crate::translate;

/// The answer, at once if it is cached.
#[derive(Debug)]
pub struct ResponseFuture(Inner);

enum Inner {
    Ready(Option<Response<Body>>),
    Waiting(Pin<Box<dyn Future<Output = Response<Body>> + Send>>),
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Inner::Ready(_) => "Ready",
            Inner::Waiting(_) => "Waiting",
        })
    }
}

impl Future for ResponseFuture {
    type Output = Result<Response<Body>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Inner::Ready(response) => match response.take() {
                Some(response) => Poll::Ready(Ok(response)),
                // Polled after its end: as any future, it may do anything but panic.
                None => Poll::Pending,
            },
            Inner::Waiting(waiting) => waiting.as_mut().poll(context).map(Ok),
        }
    }
}

impl Assets {
    /// The answer to a request, whose content is not read.
    pub(crate) fn respond<B>(&self, asked: &Request<B>) -> ResponseFuture {
        let uri = asked.uri();
        let query = uri.query().map(str::as_bytes);
        let path = uri.path().as_bytes();
        let request = salver_assets::Request {
            secure_context: translate::secure_context(asked),
            ..translate::request(asked.method(), path, query, asked.headers())
        };
        self.respond_by(|engines| &engines.serving, asked, request, path)
    }

    /// The answer of one of the engines to a request, which is asked for at this path.
    fn respond_by<B>(
        &self,
        of: fn(&Engines) -> &EngineHandle,
        asked: &Request<B>,
        request: salver_assets::Request<'_>,
        path: &[u8],
    ) -> ResponseFuture {
        let uri = asked.uri();
        let (engine, reads) = (of(self.engines()), self.engines().reads);
        let details =
            || translate::details(asked.method(), uri, asked.headers(), translate::scheme(uri));
        let mut reply = engine.ask(&request);
        if let EngineReply::NeedDetails = reply {
            let details = details();
            reply = engine.ask(&salver_assets::Request {
                details: Some(&details),
                ..request.clone()
            });
        }
        ResponseFuture(match reply {
            EngineReply::Ready(plan) => Inner::Ready(Some(translate::response(plan, path, reads))),
            EngineReply::NeedDetails | EngineReply::NeedAccess(_) => {
                Inner::Ready(Some(translate::response(no_rules(), path, reads)))
            }
            EngineReply::Pending(pending) => {
                let details = engine.may_need_details().then(details);
                let (assets, request) = (self.clone(), request.into_owned());
                Inner::Waiting(Box::pin(async move {
                    let request = salver_assets::Request {
                        details: details.as_ref(),
                        ..request
                    };
                    let plan = of(assets.engines()).wait(&request, pending).await;
                    translate::response(plan, &request.path, reads)
                }))
            }
        })
    }
}

/// One file as a service, whatever a request's path is: [`Assets::file_service`]. Cheap to clone.
#[derive(Clone, Debug)]
pub struct FileService {
    assets: Assets,
    target: Arc<str>,
}

impl Assets {
    /// A service that answers every request with one file, as `ServeFile` does: `path` is as for
    /// [`file`](Self::file).
    ///
    /// ```
    /// # fn main() -> Result<(), salver_tower::Error> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let dist = directory.path();
    /// let assets = salver_tower::Assets::new(dist)?;
    /// let app: axum::Router =
    ///     axum::Router::new().route_service("/favicon.ico", assets.file_service("icons/16.ico"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn file_service(&self, path: &str) -> FileService {
        FileService {
            assets: self.clone(),
            target: target_of(path).into(),
        }
    }
}

impl<B> Service<Request<B>> for FileService {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> ResponseFuture {
        let FileService { assets, target } = self;
        let path = target.as_bytes();
        // From no secure context: what a file is a dictionary for is said by its own path.
        let of_file = translate::request(request.method(), path, None, request.headers());
        assets.respond_by(|engines| &engines.named, &request, of_file, path)
    }
}

impl<B> Service<Request<B>> for Assets {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> ResponseFuture {
        self.respond(&request)
    }
}
