//! The content of an answer, which is counted for the access log.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use salver_tower::Body;

use crate::portable::request_log::LogRecord;

/// The content of an answer. Its end, or that of its connection, is the end of the record.
#[derive(Debug)]
pub(crate) struct AnswerBody {
    body: Body,
    record: Option<LogRecord>,
}

impl AnswerBody {
    pub(crate) fn new(body: Body, record: Option<LogRecord>) -> Self {
        AnswerBody { body, record }
    }
}

impl http_body::Body for AnswerBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if let (Poll::Ready(Some(Ok(frame))), Some(record)) = (&frame, &mut self.record) {
            record.add_sent(frame.data_ref().map_or(0, Bytes::len));
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
