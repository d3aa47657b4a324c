//! Answers whose content a handler streams: each piece is a DATA frame, handed to QUIC as there is room for it.

use std::future::poll_fn;
use std::task::{Context, Poll};

use salver_http3::{write_data_header, write_trailers};

use super::sending::{LONG, PIECE};
use super::{RequestFailure, RequestTask};
use crate::handler::{NextPiece, StreamedContent};

/// The most bytes before the content of a frame.
const FRAME_HEADER: usize = 16;

impl RequestTask {
    /// Sends an answer whose content is streamed, behind its head.
    pub(super) async fn send_streamed(
        &mut self,
        head: Vec<u8>,
        mut content: Box<StreamedContent>,
    ) -> Result<(), RequestFailure> {
        self.head_left = head.len();
        self.take_slot(content.left().unwrap_or(LONG));
        self.write(&mut [head.into()]).await?;
        loop {
            self.prioritise();
            match poll_fn(|context| self.poll_streamed(context, &mut content)).await? {
                NextPiece::Content(piece, is_last) => {
                    let length = u64::try_from(piece.len()).unwrap_or(u64::MAX);
                    let mut header = Vec::with_capacity(FRAME_HEADER);
                    write_data_header(&mut header, length);
                    self.head_left = header.len();
                    self.write(&mut [header.into(), piece]).await?;
                    if is_last {
                        return Ok(());
                    }
                }
                NextPiece::End(None) => return Ok(()),
                NextPiece::End(Some(trailers)) => {
                    let mut section = Vec::new();
                    let lines = trailers.iter().map(|(name, value)| (&**name, &**value));
                    write_trailers(&mut section, lines);
                    self.head_left = section.len();
                    return self.write(&mut [section.into()]).await;
                }
            }
        }
    }

    /// The next piece, unless the client withdraws its request meanwhile.
    fn poll_streamed(
        &mut self,
        context: &mut Context<'_>,
        content: &mut StreamedContent,
    ) -> Poll<Result<NextPiece, RequestFailure>> {
        self.receive_content(context)?;
        if let Poll::Ready(next) = content.poll_next(context, PIECE) {
            return Poll::Ready(next.map_err(RequestFailure::Content));
        }
        // It waits for its handler, not for the client.
        self.stall_timer.pause();
        self.check_content(context)?;
        self.poll_withdrawn(context)
            .map(|()| Err(RequestFailure::Gone))
    }
}
