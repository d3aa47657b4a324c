//! Connections that get a single response and end: those refused, redirected, or sent without TLS to a port with it.

use std::io;

use salver_assets::{Content, ResponsePlan};
use salver_http1::{Persistence, write_head};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::access_log::record::LogRecord;

/// Sends the answer and waits until the client has read it: further input of the client would otherwise destroy the
/// answer on its way (RFC 9112 section 9.6). Has no time limit: the caller sets one.
///
/// # Errors
/// The socket's.
pub(crate) async fn send_single_response(
    mut stream: TcpStream,
    plan: &ResponsePlan,
    date: &[u8; 29],
    mut record: Option<LogRecord>,
) -> io::Result<()> {
    if let Some(record) = &mut record {
        record.answer(plan);
    }
    let mut answer = Vec::new();
    let fields = plan.fields().map(|(name, value)| (name, &**value));
    write_head(&mut answer, plan.status, date, fields, Persistence::Close);
    if let Content::Memory(text) = &plan.content {
        answer.extend_from_slice(text);
    }
    stream.write_all(&answer).await?;
    if let Some(mut record) = record {
        record.set_unsent(0);
    }
    stream.shutdown().await?;
    let mut ignored = [0; 1024];
    while stream.read(&mut ignored).await? > 0 {}
    Ok(())
}
