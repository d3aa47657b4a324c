//! HTTP/2 (RFC 9113), over TLS by ALPN or with prior knowledge.

use std::future::{Future as _, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::Poll;

use bytes::Bytes;
use futures_util::future::{Either, select};
use h2::client::{Builder, SendRequest};
use h2::{Error, Reason, SendStream};
use http::Request;
use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio_rustls::TlsConnector;

use super::opened::{CONNECTION_WINDOW, Failed, How, Opened, STREAM_WINDOW};
use crate::answer::Answer;
use crate::protocol::tls;
use crate::protocol::transport::Dialer;
use crate::protocol::wire::connected;
use crate::result::model::Http;
use crate::result::model::Tls;

/// Bytes taken from a socket at a time with TLS, whose library alone would take 4 KiB.
const BUFFER: usize = 32 * 1024;

/// The part of a window that is taken before the server is told, in bytes; at the end of a stream the library
/// tells it anyway.
const HELD: usize = 1 << 20;

/// Where requests are given to a connection.
pub(crate) type Sender = SendRequest<Bytes>;

/// Opens a connection. What it needs to go on is done by a task of the runtime.
pub(super) async fn open(dialer: &Dialer, number: usize) -> io::Result<Opened<Sender>> {
    let tcp = connected(dialer.address, number).await?;
    let Some((config, name)) = &dialer.secure else {
        return begin(tcp, None).await;
    };
    let tcp = BufReader::with_capacity(BUFFER, tcp);
    let connector = TlsConnector::from(config.clone());
    let stream = connector.connect(name.clone(), tcp).await;
    let stream = stream.map_err(tls::explain)?;
    let agreed = tls::agreed(
        stream.get_ref().1,
        Http::Two,
        dialer.is_any_certificate_good,
    )?;
    begin(stream, Some(agreed)).await
}

async fn begin(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    tls: Option<Tls>,
) -> io::Result<Opened<Sender>> {
    let mut builder = Builder::new();
    builder
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .enable_push(false)
        // None before the server has said how many.
        .initial_max_send_streams(0)
        // Each wrong answer is counted, and none of them ends the connection.
        .max_local_error_reset_streams(None);
    let handshake = builder.handshake::<_, Bytes>(stream).await;
    let (session, mut connection) = handshake.map_err(io::Error::other)?;
    // A server that speaks HTTP/2 begins with its settings (RFC 9113 section 3.4).
    poll_fn(|cx| match Pin::new(&mut connection).poll(cx) {
        Poll::Ready(ended) => {
            let why = ended
                .err()
                .map_or(String::new(), |error| format!(" ({error})"));
            let text = format!("it does not speak {}{why}", Http::Two);
            Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, text)))
        }
        Poll::Pending if connection.max_concurrent_send_streams() > 0 => Poll::Ready(Ok(())),
        Poll::Pending => Poll::Pending,
    })
    .await?;
    let driver = tokio::spawn(async move {
        // Every request that was under way is told.
        let _ = connection.await;
    });
    Ok((session, driver, tls))
}

pub(super) async fn ask(
    sender: &mut Sender,
    message: Request<Bytes>,
    answer: &mut Answer,
) -> Result<(), Failed> {
    let failed = |error: Error| failed(&error);
    let (head, content) = message.into_parts();
    let ends = content.is_empty();
    let sent = sender.send_request(Request::from_parts(head, ()), ends);
    let (response, mut stream) = sent.map_err(failed)?;
    let response = match ends {
        true => response.await,
        // A server may answer before it has taken all of it.
        false => match select(response, pin!(upload(&mut stream, content))).await {
            Either::Left((response, _)) => response,
            Either::Right((_, response)) => response.await,
        },
    };
    let (head, mut body) = response.map_err(failed)?.into_parts();
    answer.take_head(head.status, &head.headers)?;
    let mut held = 0;
    while !body.is_end_stream() {
        let Some(piece) = poll_fn(|cx| body.poll_data(cx)).await else {
            body.trailers().await.map_err(failed)?;
            break;
        };
        let piece = piece.map_err(failed)?;
        answer.take_piece(&piece)?;
        held += piece.len();
        if held >= HELD {
            let window = body.flow_control();
            window.release_capacity(held).map_err(failed)?;
            held = 0;
        }
    }
    Ok(answer.take_end()?)
}

/// Sends content as the server makes room for it. Why it cannot be sent is seen in the answer.
async fn upload(stream: &mut SendStream<Bytes>, mut content: Bytes) -> Option<()> {
    while !content.is_empty() {
        stream.reserve_capacity(content.len());
        let room = poll_fn(|cx| stream.poll_capacity(cx)).await?.ok()?;
        let piece = content.split_to(room.min(content.len()));
        stream.send_data(piece, content.is_empty()).ok()?;
    }
    Some(())
}

fn failed(error: &Error) -> Failed {
    let how = if error.is_library() {
        // The library has found that the server broke the protocol.
        How::Malformed
    } else if error.is_go_away() && error.reason() == Some(Reason::NO_ERROR) {
        How::Unprocessed
    } else {
        How::Ended
    };
    Failed {
        how,
        is_lost: !error.is_reset(),
    }
}
