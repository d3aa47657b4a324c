//! Connections that get a single response and end: those refused, redirected, or sent without TLS to a port with it.

use std::io;
use std::time::{Duration, Instant};

use salver_assets::{Content, ResponsePlan};
use salver_http1::{Persistence, write_head};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::access_log::record::LogRecord;
use crate::context::WorkerContext;
use crate::deadlines::Deadline;
use crate::rendered_responses::field_lines;

/// The time that a client has to read the answer.
const READING: Duration = Duration::from_secs(2);

/// Sends the answer as the last one of its connection, within a time limit.
pub(crate) async fn end_with_response(
    context: &WorkerContext,
    deadline: &Deadline,
    stream: TcpStream,
    plan: &ResponsePlan,
    record: Option<LogRecord>,
) {
    let date = context.clock.now().date.format();
    deadline.set(Instant::now() + READING);
    let sending = Box::pin(send_single_response(stream, plan, &date, record));
    deadline.bound(sending, || true).await;
}

/// Sends the answer and waits until the client has read it: further input of the client would otherwise destroy the
/// answer on its way (RFC 9112 section 9.6). Has no time limit: the caller sets one.
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
    let (status, fields) = (plan.status, field_lines(plan));
    write_head(&mut answer, status, date, fields, b"", Persistence::Close);
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
