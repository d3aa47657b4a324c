//! Services of `tower` as handlers: an application of axum, say, or of tonic.

use std::error::Error;
use std::future::poll_fn;
use std::sync::Arc;

use http::{Request, Response};
use tower_service::Service;

use super::body::Body;
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
        let upgrade = hyper_upgrade::add(&mut request);
        Box::pin(async move {
            let response = async {
                poll_fn(|context| service.poll_ready(context)).await?;
                service.call(request).await
            };
            match response.await {
                Ok(response) => Ok(Reply::Response(upgrade.finish(response.map(Body::new)))),
                Err(error) => {
                    let error: Box<dyn Error + Send + Sync> = error.into();
                    Err(HandlerError::Failed(error.to_string()))
                }
            }
        })
    })
}
