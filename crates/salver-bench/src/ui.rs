//! The page of `salver bench ui`: a person sets what is to be measured, watches it, and lays the
//! result over earlier ones.
//!
//! It listens on the loopback interface alone; runs are started by, and shown to, nobody but who
//! knows its token. It measures one thing at a time, asks no other host for anything, and never
//! drops an error from what it shows. What is measured and how is a [`Runner`]'s matter.

mod guard;
mod job;
mod page;
mod routes;
mod saved;
mod secret;
mod state;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

pub use job::{Job, JobKind, JobProgress, Protocol, Runner};
pub use state::Handle;

use crate::error::BenchError;
use crate::protocol::session::runtime;
use saved::RunFiles;
use secret::Secret;
use state::State;

/// The settings of a page, besides its runner.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The port on 127.0.0.1; 0 takes any free one.
    pub port: u16,
    /// The directory for saved runs. It is made if it is not there, for its owner alone.
    pub runs: PathBuf,
    /// The name and version of the program: they stand at the foot of the page.
    pub program: String,
}

/// A page that listens, and answers as soon as it [runs](Ui::run).
#[derive(Debug)]
pub struct Ui {
    state: Arc<State>,
    listener: TcpListener,
    address: SocketAddr,
}

impl Ui {
    /// Makes the directory for runs and listens.
    ///
    /// # Errors
    /// Misused: runs cannot be saved in the directory. Failed: the port cannot be listened on.
    pub fn bind(settings: &Settings, runner: impl Runner) -> Result<Ui, BenchError> {
        let (port, directory) = (settings.port, settings.runs.clone());
        let runs = RunFiles::open(directory.clone()).map_err(|error| {
            BenchError::Misused(format!(
                "cannot save runs in {}: {error}; give another directory with --runs",
                directory.display()
            ))
        })?;
        let random = |error| BenchError::Failed(format!("no random numbers: {error}"));
        let token = Secret::random().map_err(random)?;
        let invitation = Secret::random().map_err(random)?;
        let listen = |error: io::Error| {
            BenchError::Failed(match error.kind() {
                io::ErrorKind::AddrInUse => format!(
                    "port {port} of 127.0.0.1 is taken: give another, or --port 0 for any free one"
                ),
                _ => format!("cannot listen on port {port} of 127.0.0.1: {error}"),
            })
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let program = settings.program.clone();
        let state = State::new(token, invitation, runs, program, Arc::new(runner));
        Ok(Ui {
            state: Arc::new(state),
            listener,
            address,
        })
    }

    /// The address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of the page, token included: whoever has it may use the page.
    pub fn url(&self) -> String {
        format!("http://{}/?token={}", self.address, self.state.token)
    }

    /// An address that leads to the page once. It is for a command line that opens a browser: that
    /// can be seen by other users of the machine, who must not learn the token.
    pub fn invitation(&self) -> String {
        let code = &self.state.invitation;
        format!("http://{}/open?code={code}", self.address)
    }

    /// The handle that stops it from another thread.
    pub fn handle(&self) -> Handle {
        Handle::new(Arc::clone(&self.state))
    }

    /// Serves the page until its [handle](Ui::handle) stops it. A run that is under way is then told
    /// to stop and waited for, so that it can end what it started.
    ///
    /// # Errors
    /// No event loop could be had, or the listener failed.
    pub fn run(self) -> io::Result<()> {
        let runtime = runtime()?;
        let result = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            let router = routes::router(Arc::clone(&self.state));
            let server = tokio::spawn(async move { axum::serve(listener, router).await });
            tokio::select! {
                () = self.state.ended() => Ok(()),
                result = server => result.unwrap_or_else(|error| Err(io::Error::other(error))),
            }
        });
        // A page that still listens to events must not keep the process.
        runtime.shutdown_background();
        result
    }
}
