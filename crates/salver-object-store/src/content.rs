//! The content of an answer, taken only if it is what it says.

use std::io;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use object_store::{Attribute, GetResult};

use crate::failure::Failure;

/// Refuses an object that says it is coded: it would be sent as if it were not.
pub(crate) fn refuse_coded(result: &GetResult) -> Result<(), Failure> {
    let coding = result.attributes.get(&Attribute::ContentEncoding);
    let coding = coding.map_or("", |coding| coding.as_ref()).trim();
    // Of S3: how it was uploaded.
    match coding {
        "" | "identity" | "aws-chunked" => Ok(()),
        coding => Err(Failure::new(
            io::ErrorKind::InvalidData,
            &format!(
                "the object has Content-Encoding {coding:?}: upload the file as it is, and a coded one beside it"
            ),
        )),
    }
}

/// The whole content of an answer, if it has the length that it should.
pub(crate) async fn collect(result: GetResult, length: u64) -> Result<Bytes, Failure> {
    let wrong = || {
        Failure::new(
            io::ErrorKind::ConnectionAborted,
            "the answer of the bucket has another length than it says",
        )
    };
    let length = usize::try_from(length).map_err(|_| wrong())?;
    // Copied: what comes may be a part of a buffer that is far longer.
    let mut bytes = BytesMut::with_capacity(length);
    let mut pieces = result.into_stream();
    while let Some(piece) = pieces.next().await {
        let piece = match piece {
            // All is there, but more was announced.
            Err(_) if bytes.len() == length && length > 0 => return Err(wrong()),
            piece => piece.map_err(Failure::from)?,
        };
        if bytes.len().saturating_add(piece.len()) > length {
            return Err(wrong());
        }
        bytes.extend_from_slice(&piece);
    }
    match bytes.len() == length {
        true => Ok(bytes.freeze()),
        false => Err(wrong()),
    }
}
