//! The call of a handler, until it has replied.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response};

use super::body::Body;
use super::content_channel::ContentWatch;
use super::reply::Reply;
use super::request_body::RequestBody;
use super::{Handler, HandlerError, ReplyFuture};

/// The call of a handler. A panic is its reply, so that it does not end the loop.
pub(crate) struct HandlerCall {
    /// The future of the reply, until it has come.
    replying: Option<ReplyFuture>,
    /// The reply, if it came and was not given; in a box, as most is given when it comes.
    reply: Option<Box<Result<Reply, HandlerError>>>,
    watch: Option<ContentWatch>,
}

impl HandlerCall {
    /// Calls a handler with this request. That is large: it is taken from where it lies, not moved on its way.
    pub(crate) fn new(handler: &Handler, request: &mut Option<Request<RequestBody>>) -> Self {
        let watch = request.as_ref().and_then(|request| request.body().watch());
        let replying = catch_unwind(AssertUnwindSafe(|| request.take().map(&**handler)));
        HandlerCall {
            replying: replying.ok().flatten(),
            reply: None,
            watch,
        }
    }

    /// The response, if the handler gives one at once. Any other reply is kept.
    pub(crate) fn response_at_once(&mut self, context: &mut Context<'_>) -> Option<Response<Body>> {
        match Pin::new(&mut *self).poll(context) {
            Poll::Pending => None,
            Poll::Ready(Ok(Reply::Response(response))) => Some(response),
            Poll::Ready(reply) => {
                self.reply = Some(Box::new(reply));
                None
            }
        }
    }

    /// A watch of the content of its request, if that was not here already.
    pub(crate) fn watch(&self) -> Option<ContentWatch> {
        self.watch.clone()
    }
}

impl Future for HandlerCall {
    type Output = Result<Reply, HandlerError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(reply) = self.reply.take() {
            return Poll::Ready(*reply);
        }
        if let Some(watch) = &self.watch {
            watch.go_on(context);
        }
        let Some(replying) = &mut self.replying else {
            return Poll::Ready(Err(HandlerError::Panicked));
        };
        let polled = catch_unwind(AssertUnwindSafe(|| replying.as_mut().poll(context)));
        let reply = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(reply)) => reply,
            Err(_) => Err(HandlerError::Panicked),
        };
        let replying = self.replying.take();
        // A panic when the future is dropped no longer matters.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(replying)));
        Poll::Ready(reply)
    }
}
