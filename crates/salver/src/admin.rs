//! The admin listener: its settings, the server that it tells of, and its own thread.

pub(crate) mod client;
mod served;
mod settings;

use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::chown;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use salver_admin::Admin;
use salver_server::{Handle, InheritedSockets, Server, ServerSockets};

pub(crate) use served::{Current, Reload, Served};
pub(crate) use settings::{AdminSettings, admin_settings};

use crate::failure::Failure;

/// The connections to the admin listener; each has one request at a time.
const CONNECTIONS: usize = 64;

/// The memory of those connections, in bytes.
const MEMORY: u64 = 64 * 1024 * 1024;

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
        let admin = Admin::new(Arc::new(served), settings.token.clone());
        let admin = Arc::new(admin);
        let of_server = salver_server::Settings {
            addresses: settings.addresses.clone(),
            unix_sockets: settings.socket.iter().cloned().collect(),
            // One request at a time for each connection, so that the threads that answer are as few.
            http2: false,
            workers: 1,
            max_connections: CONNECTIONS,
            max_connections_per_client: Some(CONNECTIONS),
            connection_memory: MEMORY,
            max_body: 4096,
            loader_threads: 1,
            grace: GRACE,
            ..salver_server::Settings::default()
        };
        let server = Server::builder()
            .settings(of_server)
            .inherited_sockets(given)
            .guard("/", move |request| respond(Arc::clone(&admin), request))
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
        let addresses = self.server.addresses().iter().map(SocketAddr::to_string);
        let addresses = addresses.map(|address| format!("http://{address}/"));
        let sockets = self.settings.socket.iter();
        let sockets = sockets.map(|path| format!("{path:?}, a Unix socket"));
        let locked = match self.settings.token {
            Some(_) => ", with its token",
            None => "",
        };
        let places = addresses.chain(sockets);
        places.map(|place| format!("{place}{locked}")).collect()
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
async fn respond(admin: Arc<Admin>, request: Request<Bytes>) -> Response<Bytes> {
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
