//! SIGINT and SIGTERM, as calls of a function.

use std::io;
use std::sync::mpsc::sync_channel;

use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

/// Calls `react` for each SIGINT and SIGTERM from now on, from a thread of its own. When this
/// returns, the signals no longer end the process by themselves.
///
/// # Errors
/// No thread or no handler could be had.
pub fn listen(react: impl Fn() + Send + 'static) -> io::Result<()> {
    let (ready, installed) = sync_channel(1);
    let thread = std::thread::Builder::new().name("salver-signals".to_owned());
    thread.spawn(move || {
        let result = install_and_wait(&react, || {
            let _ = ready.send(Ok(()));
        });
        if let Err(error) = result {
            let _ = ready.send(Err(error));
        }
    })?;
    installed
        .recv()
        .unwrap_or_else(|_| Err(io::Error::other("no thread for signals")))
}

fn install_and_wait(react: &impl Fn(), installed: impl FnOnce()) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        installed();
        loop {
            let received = tokio::select! {
                received = interrupt.recv() => received,
                received = terminate.recv() => received,
            };
            match received {
                Some(()) => react(),
                // No more signals can arrive.
                None => return Ok(()),
            }
        }
    })
}
