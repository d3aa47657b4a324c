//! Answers whose content a handler streams: each piece is a DATA frame, handed to QUIC as there is room for it.

use std::future::poll_fn;
use std::task::{Context, Poll};

use salver_http3::{write_data_header, write_trailers};

use super::sending::PIECE;
use super::{RequestFailure, RequestTask};
use crate::handler::{NextPiece, StreamedContent};
use crate::memory_budget::charged;

/// The most bytes before the content of a frame.
const FRAME_HEADER: usize = 16;

/// The longest piece that is copied behind the header of its frame, which saves QUIC a piece of its own.
const COPIED: usize = 1024;

/// The memory of a piece in QUIC besides its bytes, about.
const OVERHEAD: usize = 128;

impl RequestTask {
    /// Sends an answer whose content is streamed, behind its head.
    pub(super) async fn send_streamed(
        &mut self,
        head: Vec<u8>,
        mut content: Box<StreamedContent>,
    ) -> Result<(), RequestFailure> {
        self.head_left = head.len();
        // One without an end that is known may have none: files of the same urgency have their turns beside it.
        self.take_slot(content.left().unwrap_or(u64::MAX));
        self.write(&mut [head.into()]).await?;
        loop {
            self.prioritise();
            let next = poll_fn(|context| self.poll_streamed(context, &mut content)).await?;
            self.awaited = None;
            match next {
                NextPiece::Content(piece, is_last) => {
                    let length = u64::try_from(piece.len()).unwrap_or(u64::MAX);
                    let mut header = Vec::with_capacity(FRAME_HEADER);
                    write_data_header(&mut header, length);
                    self.head_left = header.len();
                    // All of it is memory of the connection until the client has acknowledged it.
                    let account = &self.connection.seat.account;
                    match piece.len() <= COPIED {
                        true => {
                            header.extend_from_slice(&piece);
                            let frame = charged(account, header.into(), OVERHEAD);
                            self.write(&mut [frame]).await?;
                        }
                        false => {
                            let piece = charged(account, piece, OVERHEAD);
                            self.write(&mut [header.into(), piece]).await?;
                        }
                    }
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

    /// Takes the current generation, so that one of before is not kept for as long as this goes on.
    fn renew(&mut self) {
        if self.shared.context.superseded.get() {
            (self.shared, self.log) = self.connection.shared_and_log();
        }
    }

    /// The next piece, unless the client withdraws its request meanwhile.
    fn poll_streamed(
        &mut self,
        context: &mut Context<'_>,
        content: &mut StreamedContent,
    ) -> Poll<Result<NextPiece, RequestFailure>> {
        self.receive_content(context)?;
        let most = self.connection.seat.account.room_up_to(PIECE);
        if let Poll::Ready(next) = content.poll_next(context, most) {
            return Poll::Ready(next.map_err(RequestFailure::Content));
        }
        self.renew();
        // It waits for its handler, not for the client.
        self.stall_timer.pause();
        self.check_content(context)?;
        self.await_answer();
        self.poll_withdrawn(context)
            .map(|()| Err(RequestFailure::Gone))
    }
}
