//! A request between two steps: how far it has come, what it waits for, and what for.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use salver_coalesce::Follower;
use salver_semantics::ContentCoding;

use crate::load::{Landed, Previous};

/// A request's place in a queue for a load; may be dropped at any time.
pub struct Pending {
    pub(crate) follower: Follower<Landed>,
    pub(crate) progress: Progress,
    /// Whose files it waits for.
    pub(crate) mount: usize,
}

/// What a [`Pending`] resolves to.
pub struct Arrived {
    pub(crate) landed: Landed,
    pub(crate) progress: Progress,
}

/// How far a request has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// Whether the fallback is asked for instead of the path, which is unknown.
    pub(crate) fallback: bool,
    pub(crate) loads: u8,
    /// When the request came, as a time since the engine's epoch.
    pub(crate) asked: Duration,
}

/// What a load is begun for.
pub(crate) struct Want<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) previous: Option<Previous>,
    pub(crate) purpose: Purpose,
}

pub(crate) enum Purpose {
    /// To learn what is there.
    Look,
    /// For the content of the representation in this coding; if it is `kept`, all find it in the
    /// entry from then on.
    Content { coding: ContentCoding, kept: bool },
}

/// The path of what is shared by this name.
pub(crate) fn path_of(name: &[u8]) -> &[u8] {
    name.split(|&byte| byte == 0).next().unwrap_or_default()
}

impl Want<'_> {
    /// Who gives the same name can share the load. Content that is not kept is of use only to
    /// those who want the same coding: others would wait in vain, and then again. No path holds a
    /// NUL.
    pub(crate) fn shared_as(&self) -> Cow<'_, [u8]> {
        match self.purpose {
            Purpose::Content {
                coding,
                kept: false,
            } => [self.key, b"\0", coding.name().as_bytes()].concat().into(),
            Purpose::Look | Purpose::Content { .. } => self.key.into(),
        }
    }
}

impl Pending {
    /// The number of the mount whose files are waited for, in the order of the configuration: they may all
    /// be slow together.
    pub fn mount(&self) -> usize {
        self.mount
    }
}

impl Future for Pending {
    type Output = Arrived;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Arrived> {
        let progress = self.progress;
        Pin::new(&mut self.follower)
            .poll(context)
            .map(|landed| Arrived { landed, progress })
    }
}
