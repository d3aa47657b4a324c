//! Signals, as calls of a function.

use std::future::poll_fn;
use std::io;
use std::sync::mpsc::sync_channel;
use std::task::Poll;

use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

/// What a server is told by a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// SIGINT, SIGTERM and SIGQUIT: end.
    End,
    /// SIGHUP: by custom, read the configuration again.
    Reload,
    /// SIGUSR1: open the log again.
    Reopen,
    /// SIGUSR2: by custom, bring in a new program.
    Upgrade,
}

/// Calls `react` for each SIGINT and SIGTERM from now on, from a thread of its own. When this
/// returns, the signals no longer end the process by themselves.
///
/// # Errors
/// No thread or no handler could be had.
pub fn listen(react: impl Fn() + Send + 'static) -> io::Result<()> {
    let both = [SignalKind::interrupt(), SignalKind::terminate()];
    listen_to(both.map(|kind| (kind, Order::End)).to_vec(), move |_| {
        react()
    })
}

/// Calls `react` for each signal that operators send to servers, from a thread of its own. When this
/// returns, none of them ends the process by itself.
///
/// # Errors
/// No thread or no handler could be had.
pub fn take_orders(react: impl Fn(Order) + Send + 'static) -> io::Result<()> {
    let orders = vec![
        (SignalKind::interrupt(), Order::End),
        (SignalKind::terminate(), Order::End),
        (SignalKind::quit(), Order::End),
        (SignalKind::hangup(), Order::Reload),
        (SignalKind::user_defined1(), Order::Reopen),
        (SignalKind::user_defined2(), Order::Upgrade),
    ];
    listen_to(orders, react)
}

/// Calls `react` with what belongs to each signal that comes.
fn listen_to(
    kinds: Vec<(SignalKind, Order)>,
    react: impl Fn(Order) + Send + 'static,
) -> io::Result<()> {
    let (ready, installed) = sync_channel(1);
    let thread = std::thread::Builder::new().name("salver-signals".to_owned());
    thread.spawn(move || {
        let result = install_and_wait(kinds, &react, || {
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

fn install_and_wait(
    kinds: Vec<(SignalKind, Order)>,
    react: &impl Fn(Order),
    installed: impl FnOnce(),
) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let install = |(kind, meaning)| signal(kind).map(|signal| (signal, meaning));
        let mut signals = kinds
            .into_iter()
            .map(install)
            .collect::<io::Result<Vec<_>>>()?;
        installed();
        poll_fn(|context| {
            for (signal, meaning) in &mut signals {
                // `None` would be that no more can arrive, which does not happen.
                while let Poll::Ready(Some(())) = signal.poll_recv(context) {
                    react(*meaning);
                }
            }
            Poll::Pending
        })
        .await
    })
}
