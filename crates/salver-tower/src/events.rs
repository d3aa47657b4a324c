//! Events of the cache for any number of receivers, at no cost without one.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use salver_assets::{Event, Observer};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

/// The events that wait for a slow receiver; each further one pushes out the oldest.
const QUEUE: usize = 1024;

/// The hub that hands each event of an engine to all receivers.
#[derive(Debug, Default)]
pub(crate) struct EventHub {
    /// The channel, made for the first receiver.
    sender: OnceLock<broadcast::Sender<Event>>,
    listening: Arc<AtomicUsize>,
}

impl EventHub {
    pub(crate) fn subscribe(&self) -> Events {
        let sender = self.sender.get_or_init(|| broadcast::Sender::new(QUEUE));
        let receiver = sender.subscribe();
        self.listening.fetch_add(1, Ordering::Relaxed);
        Events {
            receiver,
            listening: Arc::clone(&self.listening),
        }
    }
}

impl Observer for EventHub {
    fn is_listening(&self) -> bool {
        self.listening.load(Ordering::Relaxed) > 0
    }

    fn observe(&self, event: Event) {
        if let Some(sender) = self.sender.get() {
            // It fails if the last one has just left.
            let _ = sender.send(event);
        }
    }
}

/// A receiver of the cache's events, from the moment at which [`Assets::events`](crate::Assets::events) was
/// called.
///
/// The cache never waits for a receiver: of 1,024 events that were not taken yet, a further one
/// pushes out the oldest, and the next answer says how many were [`MissedEvents`].
#[derive(Debug)]
pub struct Events {
    receiver: broadcast::Receiver<Event>,
    listening: Arc<AtomicUsize>,
}

impl Events {
    /// The next event, as soon as there is one; `None` when all clones of the
    /// [`Assets`](crate::Assets) are gone. Nothing is lost if it is dropped before its end, in a
    /// `select!`, say.
    pub async fn next(&mut self) -> Option<Result<Event, MissedEvents>> {
        match self.receiver.recv().await {
            Ok(event) => Some(Ok(event)),
            Err(RecvError::Lagged(events)) => Some(Err(MissedEvents { events })),
            Err(RecvError::Closed) => None,
        }
    }

    /// The next event if there is one already.
    pub fn try_next(&mut self) -> Option<Result<Event, MissedEvents>> {
        match self.receiver.try_recv() {
            Ok(event) => Some(Ok(event)),
            Err(TryRecvError::Lagged(events)) => Some(Err(MissedEvents { events })),
            Err(TryRecvError::Empty | TryRecvError::Closed) => None,
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.listening.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The loss of events: the receiver was slower than the cache, and the oldest were dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissedEvents {
    /// The number of events that were dropped.
    pub events: u64,
}

impl fmt::Display for MissedEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} events were missed", self.events)
    }
}

impl std::error::Error for MissedEvents {}
