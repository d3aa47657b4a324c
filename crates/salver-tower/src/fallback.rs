//! A fallback: another service for requests that are for no file.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response, StatusCode};
use http_body_util::Either;
use tower_service::Service;

use crate::assets::Assets;
use crate::body::Body;

/// [`Assets`] with a service that is asked where they have no file.
#[derive(Clone, Debug)]
pub struct WithFallback<F> {
    assets: Assets,
    fallback: F,
}

impl Assets {
    /// Asks `fallback` where the answer is 404, or 400 because the path is malformed (`/%00`), with the request as it
    /// came. As `ServeDir::fallback`.
    pub fn fallback<F>(self, fallback: F) -> WithFallback<F> {
        WithFallback {
            assets: self,
            fallback,
        }
    }
}

impl<F, B, C> Service<Request<B>> for WithFallback<F>
where
    F: Service<Request<B>, Response = Response<C>> + Clone + Send + 'static,
    F::Future: Send,
    B: Send + 'static,
{
    type Response = Response<Either<Body, C>>;
    type Error = F::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, F::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), F::Error>> {
        self.fallback.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // The one that was found ready is the one to call (tower's documentation of `Clone`).
        let clone = self.fallback.clone();
        let mut fallback = std::mem::replace(&mut self.fallback, clone);
        let answer = self.assets.respond(&request);
        Box::pin(async move {
            match answer.await {
                Ok(response) if !is_no_file(response.status()) => Ok(response.map(Either::Left)),
                _ => Ok(fallback.call(request).await?.map(Either::Right)),
            }
        })
    }
}

/// True for the statuses of paths at which no file is: of files 400 is the answer to malformed paths alone.
fn is_no_file(status: StatusCode) -> bool {
    matches!(status, StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST)
}
