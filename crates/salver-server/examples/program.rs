//! `cargo run -p salver-server --example program -- DIR [PORT]`: a server of one's own. It sends the files
//! of DIR, those beneath `/private` to who knows the word; answers `/api/hello` itself; and sends a file
//! under another name than its own. Ctrl-C ends it once answers that are under way are finished; a
//! second one ends it at once.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_DISPOSITION};
use http::{HeaderValue, Request, Response};
use salver_server::{BuildError, Handle, Reply, Server};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a real program asks its sessions about.
const WORD: &[u8] = b"Bearer open sesame";

async fn who_knows_the_word(request: Request<Bytes>) -> Reply {
    match request.headers().get(AUTHORIZATION) {
        Some(said) if said.as_bytes() == WORD => Reply::Proceed,
        _ => {
            let mut refusal = Response::new("who are you?\n");
            *refusal.status_mut() = http::StatusCode::UNAUTHORIZED;
            refusal.into()
        }
    }
}

async fn answer(request: Request<Bytes>) -> Reply {
    match request.uri().path() {
        "/api/hello" => Response::new("hello\n").into(),
        "/latest" => Reply::file("/releases/2.0.txt").with(
            CONTENT_DISPOSITION,
            HeaderValue::from_static("attachment; filename=\"latest.txt\""),
        ),
        _ => Reply::Proceed,
    }
}

/// Ends the server when it is time, from a thread of its own.
fn end_by(mut interrupt: Signal, runtime: tokio::runtime::Runtime, server: Handle) {
    thread::spawn(move || {
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
        .listen(([127, 0, 0, 1], port))
        .guard("/private", who_knows_the_word)
        .handler(answer)
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

fn arguments() -> Result<(PathBuf, u16), String> {
    let mut arguments = std::env::args_os().skip(1);
    let (directory, port, more) = (arguments.next(), arguments.next(), arguments.next());
    let (Some(directory), None) = (directory, more) else {
        return Err("the arguments are DIR [PORT]: which directory to serve, and where".to_owned());
    };
    let port = port.unwrap_or_else(|| "8080".into());
    let number = port.to_str().and_then(|port| port.parse().ok());
    let number = number.ok_or_else(|| {
        let port = port.to_string_lossy();
        format!("{port:?} is no port: give a number up to 65535, or 0 for any that is free")
    })?;
    Ok((directory.into(), number))
}

#[allow(clippy::print_stderr, reason = "it is a program")]
fn main() -> ExitCode {
    let result = arguments().map(|(directory, port)| serve(directory, port));
    match result {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            eprintln!("{error}");
            match error {
                BuildError::Directory(..) => ExitCode::from(2),
                _ => ExitCode::FAILURE,
            }
        }
        Err(wrong) => {
            eprintln!("{wrong}");
            ExitCode::from(2)
        }
    }
}
