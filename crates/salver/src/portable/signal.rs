//! What ends a program, as calls of a function: Ctrl-C and Ctrl-Break on Windows, and that its console is closed;
//! SIGINT and SIGTERM elsewhere.

use std::io;
use std::sync::mpsc::sync_channel;

use tokio::runtime::Builder;

/// Calls `react` each time when somebody wants this program to end, from a thread of its own. When this returns, that
/// no longer ends the process by itself.
///
/// # Errors
/// No thread or no handler could be had.
pub fn listen(react: impl Fn() + Send + 'static) -> io::Result<()> {
    let (ready, installed) = sync_channel(1);
    let thread = std::thread::Builder::new().name("salver-signals".to_owned());
    thread.spawn(move || {
        let runtime = match Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => {
                let _ = ready.send(Err(error));
                return;
            }
        };
        runtime.block_on(async {
            let mut ends = match Ends::new() {
                Ok(ends) => ends,
                Err(error) => {
                    let _ = ready.send(Err(error));
                    return;
                }
            };
            let _ = ready.send(Ok(()));
            loop {
                ends.next().await;
                react();
            }
        });
    })?;
    installed
        .recv()
        .unwrap_or_else(|_| Err(io::Error::other("no thread for signals")))
}

#[cfg(windows)]
struct Ends {
    interrupt: tokio::signal::windows::CtrlC,
    break_: tokio::signal::windows::CtrlBreak,
    close: tokio::signal::windows::CtrlClose,
    shutdown: tokio::signal::windows::CtrlShutdown,
}

#[cfg(windows)]
impl Ends {
    fn new() -> io::Result<Self> {
        use tokio::signal::windows;
        Ok(Ends {
            interrupt: windows::ctrl_c()?,
            break_: windows::ctrl_break()?,
            close: windows::ctrl_close()?,
            shutdown: windows::ctrl_shutdown()?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.break_.recv() => {}
            _ = self.close.recv() => {}
            _ = self.shutdown.recv() => {}
        }
    }
}

#[cfg(not(windows))]
struct Ends {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(not(windows))]
impl Ends {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Ends {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
