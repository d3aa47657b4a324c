//! One HTTP/3 connection to the server under test.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, ConnectionError, ReadError, SendStream, TransportConfig, VarInt};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::answer::Answer;
use crate::carried::Carried;
use crate::endpoint::{Endpoint, SERVER_NAME};
use crate::exchange::Request;
use crate::http3::frame::{SETTINGS, put, put_integer, read_answer, request};
use crate::http3::unidirectional::{Known, read_all};
use crate::session::{Carrier, Manner, Outcome, Session};
use crate::wire::PATIENCE;

/// H3_NO_ERROR and H3_MESSAGE_ERROR (RFC 9114 section 8.1).
const NO_ERROR: u32 = 0x100;
const MESSAGE_ERROR: u64 = 0x10e;
/// A head alone is several times as long: smaller windows would only be slow.
const SMALLEST_WINDOW: u32 = 64;

/// HTTP/3; what moves the bytes lives as long as this.
pub(crate) struct Http3<'a> {
    runtime: Runtime,
    socket: quinn::Endpoint,
    crypto: Arc<QuicClientConfig>,
    endpoint: &'a Endpoint,
}

impl<'a> Http3<'a> {
    /// Opens a socket; says nothing yet.
    pub(crate) fn new(endpoint: &'a Endpoint) -> Result<Self, String> {
        let config = endpoint.tls.as_ref().ok_or("HTTP/3 needs a certificate")?;
        let crypto = QuicClientConfig::try_from(Arc::clone(config))
            .map_err(|error| format!("QUIC: {error}"))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| format!("no runtime: {error}"))?;
        let any: SocketAddr = if endpoint.address.is_ipv4() {
            (Ipv4Addr::UNSPECIFIED, 0).into()
        } else {
            (Ipv6Addr::UNSPECIFIED, 0).into()
        };
        let socket = runtime
            .block_on(async { quinn::Endpoint::client(any) })
            .map_err(|error| format!("a UDP socket: {error}"))?;
        Ok(Self {
            runtime,
            socket,
            crypto: Arc::new(crypto),
            endpoint,
        })
    }

    fn config(&self, manner: Manner) -> ClientConfig {
        let mut transport = TransportConfig::default();
        transport.max_idle_timeout(PATIENCE.try_into().ok());
        if let Manner::Window(bytes) = manner {
            transport.stream_receive_window(bytes.max(SMALLEST_WINDOW).into());
        }
        let mut config = ClientConfig::new(Arc::clone(&self.crypto) as _);
        config.transport_config(Arc::new(transport));
        config
    }

    async fn connect(&self, manner: Manner) -> Result<(quinn::Connection, SendStream), String> {
        let connecting = self
            .socket
            .connect_with(self.config(manner), self.endpoint.address, SERVER_NAME)
            .map_err(|error| format!("connect: {error}"))?;
        let connection = timeout(PATIENCE, connecting)
            .await
            .map_err(|_| "no handshake in time".to_owned())?
            .map_err(|error| format!("QUIC handshake: {error}"))?;
        // RFC 9114 section 6.2.1: each side opens a control stream and never ends it.
        let mut control = connection
            .open_uni()
            .await
            .map_err(|error| format!("a control stream: {error}"))?;
        let mut bytes = Vec::new();
        put_integer(&mut bytes, 0);
        put(&mut bytes, SETTINGS, &[]);
        control
            .write_all(&bytes)
            .await
            .map_err(|error| format!("the control stream: {error}"))?;
        Ok((connection, control))
    }
}

impl Carrier for Http3<'_> {
    fn open(&self, manner: Manner) -> Result<Box<dyn Session + '_>, String> {
        let (connection, control) = self.runtime.block_on(self.connect(manner))?;
        let known = Arc::new(watch::Sender::new(Known::default()));
        self.runtime
            .spawn(read_all(connection.clone(), Arc::clone(&known)));
        Ok(Box::new(Http3Session {
            runtime: &self.runtime,
            connection,
            known,
            _control: control,
        }))
    }

    fn has_frames_of_its_own(&self) -> bool {
        false
    }

    fn malformed(&self) -> u64 {
        MESSAGE_ERROR
    }

    fn carry(&self, request: &Request) -> Carried {
        Carried::of_request(request, self.endpoint.protocol)
    }
}

struct Http3Session<'a> {
    runtime: &'a Runtime,
    connection: quinn::Connection,
    known: Arc<watch::Sender<Known>>,
    /// Ending it would be an error of the connection.
    _control: SendStream,
}

impl Drop for Http3Session<'_> {
    fn drop(&mut self) {
        self.connection.close(VarInt::from_u32(NO_ERROR), b"");
    }
}

impl Http3Session<'_> {
    fn check_known(&self) -> Result<(), String> {
        match &self.known.borrow().problem {
            Some(problem) => Err(problem.clone()),
            None => Ok(()),
        }
    }
}

impl Session for Http3Session<'_> {
    fn ask(&mut self, requests: &[Carried]) -> Result<Vec<Outcome>, String> {
        let outcomes = self.runtime.block_on(async {
            let mut tasks = JoinSet::new();
            for (index, request) in requests.iter().enumerate() {
                let connection = self.connection.clone();
                let request = request.clone();
                tasks.spawn(async move { (index, exchange(&connection, &request).await) });
            }
            tasks.join_all().await
        });
        let mut outcomes = outcomes;
        outcomes.sort_by_key(|(index, _)| *index);
        self.check_known()?;
        outcomes.into_iter().map(|(_, outcome)| outcome).collect()
    }

    /// Frames are made by QUIC; the window was said at the start.
    fn set_manner(&mut self, _: Manner) {}

    fn settle(&mut self) -> Result<(), String> {
        // What the server says beside its answers may come behind them.
        let mut changes = self.known.subscribe();
        let waited = self.runtime.block_on(async {
            let settled = |known: &Known| known.has_settings || known.problem.is_some();
            timeout(PATIENCE, changes.wait_for(settled))
                .await
                .is_ok_and(|change| change.is_ok())
        });
        if !waited {
            return Err("no SETTINGS came".to_owned());
        }
        self.check_known()?;
        match self.connection.close_reason() {
            None => Ok(()),
            Some(reason) => Err(format!("the connection is over: {reason}")),
        }
    }
}

/// One request on a stream of its own.
async fn exchange(connection: &quinn::Connection, carried: &Carried) -> Result<Outcome, String> {
    let run = async {
        let (mut send, mut receive) = match connection.open_bi().await {
            Ok(streams) => streams,
            Err(error) => return ended(&error),
        };
        let bytes = request(carried);
        let sending = async move {
            // A server may stop us once it has answered (RFC 9114 section 4.1).
            if send.write_all(&bytes).await.is_ok() {
                let _ = send.finish();
            }
            let _ = send.stopped().await;
        };
        let receiving = async {
            let mut received = Vec::new();
            loop {
                match receive.read_chunk(usize::MAX, true).await {
                    Ok(Some(chunk)) => received.extend_from_slice(&chunk.bytes),
                    Ok(None) => {
                        let mut answer = Answer::to(carried);
                        read_answer(&mut answer, &received)?;
                        answer.take_end()?;
                        return Ok(answer.outcome(0));
                    }
                    Err(ReadError::Reset(code)) => return Ok(Outcome::Reset(code.into_inner())),
                    Err(ReadError::ConnectionLost(error)) => return ended(&error),
                    Err(error) => return Err(format!("read: {error}")),
                }
            }
        };
        tokio::pin!(receiving);
        tokio::select! {
            outcome = &mut receiving => outcome,
            () = sending => receiving.await,
        }
    };
    timeout(PATIENCE, run)
        .await
        .unwrap_or_else(|_| Err(format!("no whole answer came within {PATIENCE:?}")))
}

fn ended(error: &ConnectionError) -> Result<Outcome, String> {
    match error {
        ConnectionError::ApplicationClosed(close) => {
            Ok(Outcome::Ended(close.error_code.into_inner()))
        }
        error => Err(format!("the connection is over: {error}")),
    }
}
