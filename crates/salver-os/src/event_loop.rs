//! Event loops: threads that drive one Tokio runtime until they end, and never block.

use std::cell::Cell;

thread_local! {
    static IS_EVENT_LOOP: Cell<bool> = const { Cell::new(false) };
}

/// Marks the calling thread as an event loop until it ends: what it asks for may go on as a task of its own runtime, which spares
/// the way to another thread and back.
pub fn become_event_loop() {
    IS_EVENT_LOOP.set(true);
}

/// True if the calling thread is an event loop.
pub fn is_event_loop() -> bool {
    IS_EVENT_LOOP.get()
}
