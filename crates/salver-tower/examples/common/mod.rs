//! What every example does: read its arguments, listen, say where, and end in order.

use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use axum::Router;
use salver_tower::Error;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// Serves what `app` makes of the directory in the arguments `DIR [PORT]`, until Ctrl-C. Without a
/// port it is 8080; 0 takes any free one. Ends with 2 if the arguments are wrong, with 1 if the port
/// cannot be had.
#[allow(clippy::print_stderr, reason = "it is a program")]
pub(crate) fn run(app: impl FnOnce(&Path) -> Result<Router, Error>) -> ExitCode {
    let made = arguments().and_then(|(directory, port)| {
        let app = app(&directory).map_err(|error| error.to_string())?;
        Ok((app, port))
    });
    let (app, port) = match made {
        Ok(made) => made,
        Err(wrong) => {
            eprintln!("{wrong}");
            return ExitCode::from(2);
        }
    };
    match serve(app, port) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot serve at port {port}: {error}; give another as second argument");
            ExitCode::FAILURE
        }
    }
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

#[tokio::main(flavor = "current_thread")]
#[allow(clippy::print_stdout, reason = "it is a program")]
async fn serve(app: Router, port: u16) -> io::Result<()> {
    // Before anybody can know that it runs.
    let mut interrupt = signal(SignalKind::interrupt())?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    println!("http://{}", listener.local_addr()?);
    let end = async move {
        interrupt.recv().await;
    };
    axum::serve(listener, app).with_graceful_shutdown(end).await
}
