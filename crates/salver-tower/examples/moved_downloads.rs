//! `cargo run -p salver-tower --example moved_downloads -- DIR [PORT]`: a library of files beneath `/static`, and each of
//! them as a download, as it is after it has left `ServeDir`:
//!
//! | it had | it has |
//! | --- | --- |
//! | `nest_service("/static", ServeDir::new(dir).redirect_path_prefix("/static"))` | `nest_service("/static", assets)`: redirects keep the prefix by themselves |
//! | `ServeFile::new(dir.join(name))` in a handler, with a check that `name` leads nowhere else | `assets.file(&name, …)`, which cannot leave the directory |

mod common;

use std::fmt::Write;
use std::process::ExitCode;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_DISPOSITION;
use axum::response::Response;
use axum::routing::get;
use salver_tower::{Assets, Body};

/// The answer that has a browser keep the file under its name, whatever letters it has (RFC 6266, RFC 8187).
fn attachment(path: &str) -> Option<HeaderValue> {
    let name = path.rsplit('/').next()?;
    let mut value = "attachment; filename*=UTF-8''".to_owned();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
                value.push(char::from(byte));
            }
            _ => write!(value, "%{byte:02X}").ok()?,
        }
    }
    value.try_into().ok()
}

async fn download(
    State(assets): State<Assets>,
    Path(path): Path<String>,
    request: Request,
) -> Response<Body> {
    // Ranges and conditions of the request count, so that a download can be resumed.
    let mut response = assets
        .file(&path, request.method(), request.headers())
        .await;
    if response.status().is_success()
        && let Some(value) = attachment(&path)
    {
        response.headers_mut().insert(CONTENT_DISPOSITION, value);
    }
    response
}

fn main() -> ExitCode {
    common::run(|directory| {
        let assets = Assets::new(directory)?;
        Ok(Router::new()
            .route("/download/{*path}", get(download))
            .nest_service("/static", assets.clone())
            .with_state(assets))
    })
}
