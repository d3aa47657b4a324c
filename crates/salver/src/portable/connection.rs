//! A connection from its acceptance to its end.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;

use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::Watcher;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use crate::portable::listeners::Service;
use crate::portable::request_log::ConnectionLog;
use crate::portable::respond::{Role, respond};
use crate::portable::seats::Seat;
use crate::portable::shared::Shared;
use crate::portable::timed_stream::TimedStream;
use crate::portable::tls::{Accepted, NOT_TLS, server_name};

/// A connection that was accepted.
pub(crate) struct Connection {
    pub(crate) shared: Arc<Shared>,
    pub(crate) seat: Seat,
    pub(crate) watcher: Watcher,
    log: Option<ConnectionLog>,
    /// As many clones as there are answers under way, and those of [`TimedStream`] and of the service.
    answers: Arc<()>,
}

impl Connection {
    pub(crate) fn new(shared: Arc<Shared>, seat: Seat, watcher: Watcher, client: IpAddr) -> Self {
        let log = shared.log.as_ref();
        Connection {
            log: log.map(|log| ConnectionLog::new(log, client)),
            shared,
            seat,
            watcher,
            answers: Arc::default(),
        }
    }

    /// Serves it, until its end.
    pub(crate) async fn serve(self, stream: TcpStream, service: Service) {
        // Costs time alone where it fails.
        let _ = stream.set_nodelay(true);
        let role = match service {
            Service::Plain => Role::Plain,
            Service::Redirect(port) => Role::Redirect(port),
            Service::Tls => return self.serve_tls(stream).await,
        };
        let stream = self.limited(stream);
        self.serve_http(stream, role).await;
    }

    /// Makes the handshake, for which there is no more time than for the head of a request, and none when the server
    /// is to end.
    async fn serve_tls(self, stream: TcpStream) {
        let Some(tls) = &self.shared.tls else {
            return;
        };
        let mut ending = self.shared.ending.clone();
        let accepted = tokio::select! {
            accepted = tls.accept(stream, |stream| self.limited(stream)) => accepted,
            () = tokio::time::sleep(self.shared.limits.header_timeout) => return,
            _ = ending.wait_for(|is_ending| *is_ending) => return,
        };
        match accepted {
            Ok(Accepted::Secure(stream)) => {
                let role = Role::Secure(server_name(&stream).into());
                self.serve_http(stream, role).await;
            }
            Ok(Accepted::Plain(stream)) => {
                let stream = self.limited(stream);
                self.serve_http(stream, Role::NotTls(NOT_TLS)).await;
            }
            Err(error) => tracing::debug!("a TLS handshake failed: {error}"),
        }
    }

    fn limited(&self, stream: TcpStream) -> TimedStream<TcpStream> {
        let limits = &self.shared.limits;
        let answers = Arc::clone(&self.answers);
        TimedStream::new(stream, limits.idle_timeout, limits.send_timeout, answers)
    }

    async fn serve_http(
        self,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        role: Role,
    ) {
        let Connection {
            shared,
            seat,
            watcher,
            log,
            answers,
        } = self;
        let (role, client) = (Arc::new(role), seat.client());
        let service = {
            let shared = Arc::clone(&shared);
            service_fn(move |request: Request<Incoming>| {
                let (shared, role) = (Arc::clone(&shared), Arc::clone(&role));
                let answer = Arc::clone(&answers);
                // Nobody here reads content.
                let (head, _) = request.into_parts();
                let record = log.as_ref().map(|log| log.begin(&head));
                async move {
                    let response = respond(&shared, &role, client, &head, record).await;
                    drop(answer);
                    Ok::<_, Infallible>(response)
                }
            })
        };
        let connection = shared
            .builder
            .serve_connection(TokioIo::new(stream), service);
        // What a client does wrong ends its connection, and is no news.
        let _ = watcher.watch(connection.into_owned()).await;
        drop(seat);
    }
}
