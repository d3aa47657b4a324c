//! Services of `tower` as handlers: an application of axum, say, or of tonic.

use std::error::Error;
use std::future::{Future, poll_fn, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use http::{Request, Response};
use tower_service::Service;

use super::body::Body;
use super::hyper_upgrade::HyperUpgrade;
use super::reply::Reply;
use super::request_body::RequestBody;
use super::{Handler, HandlerError, connect_info, hyper_upgrade};

/// A service as a handler. Each request has a clone of it.
pub(crate) fn of_service<S, B>(service: S) -> Handler
where
    S: Service<Request<RequestBody>, Response = Response<B>> + Clone + Send + Sync + 'static,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    S::Future: 'static,
    B: http_body::Body + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    Arc::new(move |mut request| {
        let mut service = service.clone();
        connect_info::add(&mut request);
        let mut upgrade = Some(hyper_upgrade::add(&mut request));
        // Most services are ready at any time, axum's are: for these nothing waits with the request.
        match service.poll_ready(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(())) => Box::pin(ServiceCall {
                response: Box::pin(service.call(request)),
                upgrade,
            }),
            Poll::Ready(Err(error)) => Box::pin(ready(Err(failed(error)))),
            Poll::Pending => Box::pin(async move {
                let is_ready = poll_fn(|context| service.poll_ready(context)).await;
                is_ready.map_err(failed)?;
                let response = service.call(request).await;
                reply(response, &mut upgrade)
            }),
        }
    })
}

/// The call of a service. Its future is in a box of its own, where it stays: a block that awaits it has room for it
/// twice.
struct ServiceCall<F> {
    response: Pin<Box<F>>,
    upgrade: Option<HyperUpgrade>,
}

impl<F, B, E> Future for ServiceCall<F>
where
    F: Future<Output = Result<Response<B>, E>>,
    E: Into<Box<dyn Error + Send + Sync>>,
    B: http_body::Body + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Output = Result<Reply, HandlerError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let response = ready!(self.response.as_mut().poll(context));
        Poll::Ready(reply(response, &mut self.upgrade))
    }
}

/// The reply of a service.
fn reply<B, E>(
    response: Result<Response<B>, E>,
    upgrade: &mut Option<HyperUpgrade>,
) -> Result<Reply, HandlerError>
where
    E: Into<Box<dyn Error + Send + Sync>>,
    B: http_body::Body + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let response = response.map_err(failed)?.map(Body::new);
    Ok(Reply::Response(match upgrade.take() {
        Some(upgrade) => upgrade.finish(response),
        None => response,
    }))
}

/// The error of a service.
fn failed(error: impl Into<Box<dyn Error + Send + Sync>>) -> HandlerError {
    let error: Box<dyn Error + Send + Sync> = error.into();
    HandlerError::Failed(error.to_string())
}
