//! `cargo run -p axum-app -- DIR [PORT]`: an application of axum on Salver's server, over HTTP/1.1 and HTTP/2. What is
//! beneath `/api` is axum's: JSON, uploads of any length, events for those who listen (SSE), and a chat (WebSocket). All else are
//! the files of DIR, which never pass through it. Ctrl-C ends it once answers that are under way are finished; a second one ends it at
//! once.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::extract::{ConnectInfo, Path, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::routing::{any, get, put};
use axum::{Json, Router};
use futures_util::{Stream, StreamExt, stream};
use salver_server::{BuildError, Handle, Server, Settings};
use serde::Serialize;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::broadcast::{self, Sender};

/// The events that a listener may be behind; it misses older ones.
const EVENTS: usize = 64;

/// The time after which a client that is told nothing is told that.
const PING: Duration = Duration::from_secs(15);

/// The longest upload, in bytes.
const LONGEST: u64 = 8 << 30;

#[derive(Serialize)]
struct Greeting {
    hello: String,
    from: SocketAddr,
}

async fn hello(
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    Path(hello): Path<String>,
) -> Json<Greeting> {
    Json(Greeting { hello, from })
}

#[derive(Clone, Serialize)]
struct Upload {
    name: String,
    bytes: u64,
}

/// Takes an upload piece by piece, as the client sends it: a real program writes it somewhere.
async fn upload(
    State(uploads): State<Sender<Upload>>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Json<Upload>, StatusCode> {
    let mut content = request.into_body().into_data_stream();
    let mut bytes = 0;
    while let Some(piece) = content.next().await {
        let piece = piece.map_err(|_| StatusCode::BAD_REQUEST)?;
        bytes += u64::try_from(piece.len()).unwrap_or_default();
    }
    let upload = Upload { name, bytes };
    // It fails if nobody listens.
    let _ = uploads.send(upload.clone());
    Ok(Json(upload))
}

/// An event for each upload, from now on.
async fn events(
    State(uploads): State<Sender<Upload>>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let begun = stream::once(async { Ok(Event::default().comment("begun")) });
    let events = stream::unfold(uploads.subscribe(), async |mut uploads| {
        loop {
            match uploads.recv().await {
                Ok(upload) => {
                    let event = Event::default().event("upload").json_data(upload);
                    return Some((Ok(event.unwrap_or_default()), uploads));
                }
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    });
    // So that a client which has gone without a word is found out.
    let keep_alive = KeepAlive::new().interval(PING);
    Sse::new(begun.chain(events)).keep_alive(keep_alive)
}

/// What one says in the chat all are told.
async fn chat(State(said): State<Sender<Utf8Bytes>>, upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(|socket| converse(socket, said))
}

async fn converse(mut socket: WebSocket, said: Sender<Utf8Bytes>) {
    let mut heard = said.subscribe();
    // A client that has gone without a word is found out when it is told something.
    let mut ping = tokio::time::interval(PING);
    loop {
        let told = tokio::select! {
            message = socket.recv() => match message {
                Some(Ok(Message::Text(text))) => {
                    let _ = said.send(text);
                    continue;
                }
                Some(Err(_)) | None => return,
                Some(Ok(_)) => continue,
            },
            text = heard.recv() => match text {
                Ok(text) => Message::Text(text),
                Err(broadcast::error::RecvError::Lagged(_)) => continue,
                Err(broadcast::error::RecvError::Closed) => return,
            },
            _ = ping.tick() => Message::Ping(Bytes::new()),
        };
        if socket.send(told).await.is_err() {
            return;
        }
    }
}

fn app() -> Router {
    let chat = Router::new()
        // Over HTTP/1.1 it is asked for by GET, over HTTP/2 by CONNECT.
        .route("/api/chat", any(chat))
        .with_state(broadcast::channel(EVENTS).0);
    Router::new()
        .route("/api/hello/{name}", get(hello))
        .route("/api/uploads/{name}", put(upload))
        .route("/api/events", get(events))
        .with_state(broadcast::channel(EVENTS).0)
        .merge(chat)
}

/// Ends the server when it is time, from a thread of its own.
fn end_by(mut interrupt: Signal, runtime: tokio::runtime::Runtime, server: Handle) {
    std::thread::spawn(move || {
        while runtime.block_on(interrupt.recv()).is_some() {
            server.shutdown();
        }
    });
}

#[allow(clippy::print_stdout, reason = "it is a program")]
fn serve(directory: PathBuf, port: u16) -> Result<(), BuildError> {
    // Before anybody can know that it runs.
    let (interrupt, runtime) = interrupt().map_err(BuildError::Loop)?;
    Server::builder()
        .directory("/", directory)
        .service_at("/api", app())
        .settings(Settings {
            max_body: LONGEST,
            ..Settings::default()
        })
        .listen(([127, 0, 0, 1], port))
        .on_ready(move |ready| {
            for address in &ready.addresses {
                println!("http://{address}");
            }
            end_by(interrupt, runtime, ready.handle);
        })
        .serve()
}

fn interrupt() -> io::Result<(Signal, tokio::runtime::Runtime)> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_io().build()?;
    let inside = runtime.enter();
    let interrupt = signal(SignalKind::interrupt())?;
    drop(inside);
    Ok((interrupt, runtime))
}

#[allow(clippy::print_stderr, reason = "it is a program")]
fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let (directory, port) = match &*arguments {
        [directory] => (directory, Some(8080)),
        [directory, port] => (directory, port.to_str().and_then(|port| port.parse().ok())),
        _ => {
            eprintln!("the arguments are DIR [PORT]: which directory to serve, and where");
            return ExitCode::from(2);
        }
    };
    let Some(port) = port else {
        eprintln!(
            "the second argument is no port: give a number up to 65535, or 0 for any that is free"
        );
        return ExitCode::from(2);
    };
    match serve(directory.into(), port) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
