//! Connections that get a single response and end: those refused, redirected, or sent without TLS to a port with it.

use std::io;

use salver_assets::{Content, ResponsePlan};
use salver_http1::{Persistence, write_head};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::rendered_responses::field_lines;

/// Sends the answer and waits until the client has read it: further input of the client would otherwise destroy the
/// answer on its way (RFC 9112 section 9.6). Has no time limit: the caller sets one.
pub(crate) async fn send_single_response(
    mut stream: TcpStream,
    plan: &ResponsePlan,
    date: &[u8; 29],
) -> io::Result<()> {
    let mut answer = Vec::new();
    let (status, fields) = (plan.status, field_lines(plan));
    write_head(&mut answer, status, date, fields, Persistence::Close);
    if let Content::Memory(text) = &plan.content {
        answer.extend_from_slice(text);
    }
    stream.write_all(&answer).await?;
    stream.shutdown().await?;
    let mut ignored = [0; 1024];
    while stream.read(&mut ignored).await? > 0 {}
    Ok(())
}
