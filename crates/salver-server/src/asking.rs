//! From a request to a plan, for every protocol: what has to wait for a disk goes to the loader.

pub(crate) use salver_assets::Asked;
use salver_assets::{Method, Now, Pending, Request, ResponsePlan};

use crate::context::Context as Loop;

/// What is to be done, whatever it was called.
pub(crate) fn method(sent: salver_http1::Method) -> Method {
    use salver_http1::Method as Sent;
    match sent {
        Sent::Get => Method::Get,
        Sent::Head => Method::Head,
        Sent::Options => Method::Options,
        Sent::Post | Sent::Put | Sent::Delete | Sent::Patch | Sent::Connect | Sent::Trace => {
            Method::NotAllowed
        }
        Sent::Other => Method::NotImplemented,
    }
}

/// Asks the engine. Loads that do not have to wait are performed here.
pub(crate) fn ask(shared: &Loop, request: &Request<'_>, now: Now) -> Asked {
    let common = &*shared.common;
    common.engine.ask(request, now, |load| {
        common.loader.load(&common.engine, load);
    })
}

/// The plan for a request whose answer comes later.
pub(crate) async fn wait_for_plan(
    shared: &Loop,
    request: &Request<'_>,
    pending: Pending,
) -> ResponsePlan {
    let common = &*shared.common;
    let clock = || shared.clock.now();
    let hand_over = |load| common.loader.load(&common.engine, load);
    common.engine.wait(request, pending, clock, hand_over).await
}
