//! Answers for servers: the plan of one, which can be looked at before it is sent.

use std::sync::Arc;

use http::Response;
use http::request::Parts;
use salver_assets::rules::{BasicAuth, Scheme};
use salver_assets::{Access, EngineReply, Request, RequestDetails, ResponsePlan, SecureContext};

use crate::assets::Assets;
use crate::body::Body;
use crate::load_pool::ContentReads;
use crate::translate;

/// The replies of the engine to one request after which it is given up: rules change no faster.
const MOST_REPLIES: usize = 8;

impl Assets {
    /// The plan of the answer to a request that came over this scheme; [`planned_response`] makes the answer of it.
    ///
    /// Unlike the service it knows who is at the other end of the connection: where rules want a password, `verify` is
    /// asked with the users and the value of `Authorization`.
    pub async fn plan<F: Future<Output = Access>>(
        &self,
        head: &Parts,
        scheme: Scheme,
        verify: impl Fn(Arc<BasicAuth>, Option<Vec<u8>>) -> F,
    ) -> ResponsePlan {
        let serving = &self.engines().serving;
        let query = head.uri.query().map(str::as_bytes);
        let path = head.uri.path().as_bytes();
        let request = Request {
            secure_context: match scheme {
                Scheme::Https => SecureContext::Secure,
                Scheme::Http => {
                    SecureContext::ByHost(translate::authority(&head.uri, &head.headers))
                }
            },
            ..translate::request(&head.method, path, query, &head.headers)
        };
        let new_details = || translate::details(&head.method, &head.uri, &head.headers, scheme);
        let mut details: Option<RequestDetails> = serving.may_need_details().then(new_details);
        let mut reply = serving.ask(&Request {
            details: details.as_ref(),
            ..request.clone()
        });
        for _ in 0..MOST_REPLIES {
            reply = match reply {
                EngineReply::Ready(plan) => return plan,
                EngineReply::Pending(pending) => {
                    let request = Request {
                        details: details.as_ref(),
                        ..request.clone()
                    };
                    serving.reply_to(&request, pending).await
                }
                EngineReply::NeedDetails => {
                    let request = Request {
                        details: Some(details.get_or_insert_with(new_details)),
                        ..request.clone()
                    };
                    serving.ask(&request)
                }
                EngineReply::NeedAccess(users) => {
                    let details = details.get_or_insert_with(new_details);
                    let authorization = details.field("authorization").map(<[u8]>::to_vec);
                    details.access = verify(users, authorization).await;
                    let request = Request {
                        details: Some(details),
                        ..request.clone()
                    };
                    serving.ask(&request)
                }
            };
        }
        let text = "Service Unavailable: the rules are changing";
        ResponsePlan::error(503, text, vec![]).for_method(request.method)
    }
}

/// The answer of a plan. A redirect in it is relative to the root, as its own plan says. The content of all such answers is
/// read by the same threads, 128 at most.
pub fn planned_response(plan: ResponsePlan) -> Response<Body> {
    translate::response(plan, b"", ContentReads::of_plans())
}
