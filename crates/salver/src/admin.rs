//! The admin listener: its settings, the server that it tells of, and its own thread.

pub(crate) mod client;
mod deploys;
mod served;
mod settings;

use std::io;
use std::os::unix::fs::chown;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use salver_admin::{Admin, LONGEST_NOTIFICATION};
use salver_server::{Handle, InheritedSockets, Server, ServerSockets};
use salver_store::Piece;
use tokio::sync::Semaphore;

pub(crate) use served::{Current, Reload, Served};
pub(crate) use settings::{AdminSettings, admin_settings, token_in};

use crate::admin::deploys::StoreDeploys;
use crate::failure::Failure;

/// The connections to the admin listener; each has one request at a time.
const CONNECTIONS: usize = 64;

/// The memory of those connections, in bytes.
const MEMORY: u64 = 64 * 1024 * 1024;

/// The most bytes of a request's content where deploys are taken: pieces of this many bytes, and what they are said to be.
const DEPLOY_CONTENT: u64 = 1024 * 1024;

/// The requests that are answered at a time, each on a thread that may wait; further ones wait for one to end.
const ANSWERED: usize = 32;

/// The time that the end waits for its answers under way.
const GRACE: Duration = Duration::from_secs(1);

/// An admin listener that is bound and not yet running.
pub(crate) struct BoundAdmin {
    server: Server,
    settings: AdminSettings,
}

impl BoundAdmin {
    /// Binds its addresses, but for those that the process before has `given`. With `owner` its Unix socket is that
    /// user's and group's from now on.
    ///
    /// # Errors
    /// One of them cannot be listened on.
    pub(crate) fn bind(
        settings: &AdminSettings,
        served: Served,
        given: InheritedSockets,
        owner: Option<(u32, u32)>,
    ) -> Result<Self, Failure> {
        let current = Arc::clone(&served.current);
        let mut admin = Admin::new(Arc::new(served), settings.token.clone());
        if let Some(limits) = settings.deploys {
            admin = admin.with_deploys(Arc::new(StoreDeploys::new(current, limits)));
        }
        let admin = Arc::new(admin);
        let content = match settings.deploys {
            None => u64::try_from(LONGEST_NOTIFICATION).unwrap_or(u64::MAX),
            Some(_) => DEPLOY_CONTENT.saturating_add(u64::try_from(Piece::OVERHEAD).unwrap_or(0)),
        };
        let of_server = salver_server::Settings {
            addresses: settings.plain_addresses(),
            #[cfg(feature = "tls")]
            tls: settings.tls()?,
            #[cfg(feature = "http3")]
            http3: false,
            // One request at a time for each connection, so that the threads that answer are as few.
            http2: false,
            unix_sockets: settings.socket.iter().cloned().collect(),
            workers: 1,
            max_connections: CONNECTIONS,
            max_connections_per_client: Some(CONNECTIONS),
            connection_memory: MEMORY,
            max_body: content,
            loader_threads: 1,
            grace: GRACE,
            ..salver_server::Settings::default()
        };
        let (permitting, answered) = (Arc::clone(&admin), Arc::new(Semaphore::new(ANSWERED)));
        let server = Server::builder()
            .settings(of_server)
            .inherited_sockets(given)
            .permit_content(move |authorization| permitting.permits_content(authorization))
            .guard("/", move |request| {
                respond(Arc::clone(&admin), Arc::clone(&answered), request)
            })
            .build();
        let server = server.map_err(|error| Failure::Failed(error.to_string()))?;
        if let (Some(path), Some((user, group))) = (&settings.socket, owner) {
            let changed = chown(path, Some(user), Some(group));
            changed.map_err(|error| {
                Failure::Failed(format!("{path:?} cannot be given to the user: {error}"))
            })?;
        }
        Ok(BoundAdmin {
            server,
            settings: settings.clone(),
        })
    }

    /// Where it listens, a line each, for people.
    fn places(&self) -> Vec<String> {
        let addresses = self.server.addresses().iter();
        let over_tls = self.server.tls_addresses().iter();
        let addresses = addresses
            .map(|address| format!("http://{address}/"))
            .chain(over_tls.map(|address| format!("https://{address}/")));
        let sockets = self.settings.socket.iter();
        let sockets = sockets.map(|path| format!("{path:?}, a Unix socket"));
        let locked = match self.settings.token {
            Some(_) => ", with its token",
            None => "",
        };
        let deploys = match self.settings.deploys {
            Some(_) => ", and takes deploys",
            None => "",
        };
        let places = addresses.chain(sockets);
        places
            .map(|place| format!("{place}{locked}{deploys}"))
            .collect()
    }

    /// Begins to answer.
    ///
    /// # Errors
    /// The system has no thread for it.
    pub(crate) fn start(self) -> io::Result<RunningAdmin> {
        let (handle, places) = (self.server.handle(), self.places());
        let serve = move || {
            if let Err(error) = self.server.serve() {
                tracing::error!("the admin listener failed: {error}");
            }
        };
        let thread = std::thread::Builder::new().name("salver-admin".to_owned());
        Ok(RunningAdmin {
            handle,
            places,
            thread: Some(thread.spawn(serve)?),
        })
    }
}

/// The answer to a request, which is made on a thread that may wait.
async fn respond(
    admin: Arc<Admin>,
    answered: Arc<Semaphore>,
    request: Request<Bytes>,
) -> Response<Bytes> {
    // Never closed: then there would be none.
    let _permit = answered.acquire().await.ok();
    let answer = tokio::task::spawn_blocking(move || admin.respond(&request));
    answer.await.unwrap_or_else(|_| {
        let mut failed = Response::new(Bytes::from_static(b"Internal Server Error\n"));
        *failed.status_mut() = http::StatusCode::INTERNAL_SERVER_ERROR;
        failed
    })
}

/// An admin listener that answers. It ends when dropped.
pub(crate) struct RunningAdmin {
    handle: Handle,
    places: Vec<String>,
    thread: Option<JoinHandle<()>>,
}

impl RunningAdmin {
    /// Where it listens, a line each, for people.
    pub(crate) fn places(&self) -> &[String] {
        &self.places
    }

    /// Its sockets, for the process that replaces this one. Where any port does, that takes another.
    ///
    /// # Errors
    /// There are too few descriptors.
    pub(crate) fn sockets(&self) -> io::Result<ServerSockets> {
        let mut sockets = self.handle.sockets()?;
        sockets.listeners.retain(|(address, _)| address.port() != 0);
        Ok(sockets)
    }

    /// Leaves its addresses to the process that replaces this one.
    pub(crate) fn hand_over(&self) {
        self.handle.hand_over();
    }
}

impl Drop for RunningAdmin {
    fn drop(&mut self) {
        self.handle.shutdown();
        if let Some(thread) = self.thread.take() {
            // A panic there has been said.
            let _ = thread.join();
        }
    }
}
