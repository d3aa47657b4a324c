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

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

pub use job::{
    CONNECTIONS, DURATION_SECONDS, FieldErrors, Job, JobKind, JobProgress, Protocol, RATE, Runner,
    STREAMS, Wanted,
};
pub use saved::{Listing, MOST_LISTED, RunFiles, RunId, Saved, SkippedFile, Summary};
pub use secret::Secret;
pub use state::{Handle, Phase, Status};

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
    /// What could not be had.
    pub fn bind(settings: &Settings, runner: impl Runner) -> Result<Ui, UiError> {
        let runs = RunFiles::open(settings.runs.clone())
            .map_err(|error| UiError::Runs(settings.runs.clone(), error))?;
        let random = |error| UiError::System("random numbers", error);
        let token = Secret::random().map_err(random)?;
        let invitation = Secret::random().map_err(random)?;
        let port = settings.port;
        let listen = |error| UiError::Listen(port, error);
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
        format!(
            "http://{}/open?code={}",
            self.address, self.state.invitation
        )
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
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
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

/// The reason for which there is no page.
#[derive(Debug)]
pub enum UiError {
    /// The port cannot be listened on.
    Listen(u16, io::Error),
    /// Runs cannot be saved in this directory.
    Runs(PathBuf, io::Error),
    /// The system did not give this.
    System(&'static str, io::Error),
}

impl fmt::Display for UiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UiError::Listen(port, error) if error.kind() == io::ErrorKind::AddrInUse => write!(
                f,
                "port {port} of 127.0.0.1 is taken: give another, or --port 0 for any free one"
            ),
            UiError::Listen(port, error) => {
                write!(f, "cannot listen on port {port} of 127.0.0.1: {error}")
            }
            UiError::Runs(directory, error) => write!(
                f,
                "cannot save runs in {}: {error}; give another directory with --runs",
                directory.display()
            ),
            UiError::System(what, error) => write!(f, "no {what}: {error}"),
        }
    }
}

impl std::error::Error for UiError {}
