//! The ways to send that are compared.

use std::fs::File;
use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt;

use salver_os::{Directory, Metadata, Patience, Residency};
use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::TcpStream;

use super::store::Stored;

/// A way to answer a request for a file. What the server does beside it is done here as well: it
/// looks whether an open file is still what it was, before and after something of it leaves, and
/// lets others have their turn between windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Head and content lie in memory in one piece: one `send`.
    MemoryOnePiece,
    /// Head and content lie in memory apart: one `writev`.
    MemoryVectored,
    /// From an open handle: the head goes ahead with `MSG_MORE`, and each window that is in the page
    /// cache follows by `sendfile`.
    HandleSendfile,
    /// From an open handle: each window is read into a buffer, the first behind the head, and sent.
    HandleRead,
    /// As [`HandleRead`](Way::HandleRead), with an open and `fstat` before and a close after.
    OpenRead,
    /// As [`HandleSendfile`](Way::HandleSendfile), with an open and `fstat` before and a close after.
    OpenSendfile,
}

/// How sending ended.
pub(super) type Sent = io::Result<()>;

/// How far residency is asked about, and how much is read, at a time: as the server does.
const WINDOW: u64 = 256 * 1024;

impl Way {
    /// All of them.
    pub const ALL: [Way; 6] = [
        Way::MemoryOnePiece,
        Way::MemoryVectored,
        Way::HandleSendfile,
        Way::HandleRead,
        Way::OpenRead,
        Way::OpenSendfile,
    ];

    /// What a program calls it.
    pub fn name(self) -> &'static str {
        match self {
            Way::MemoryOnePiece => "memory-one-send",
            Way::MemoryVectored => "memory-writev",
            Way::HandleSendfile => "handle-sendfile",
            Way::HandleRead => "handle-pread",
            Way::OpenRead => "open-pread",
            Way::OpenSendfile => "open-sendfile",
        }
    }

    /// What a person calls it.
    pub fn title(self) -> &'static str {
        match self {
            Way::MemoryOnePiece => "memory, one send",
            Way::MemoryVectored => "memory, writev",
            Way::HandleSendfile => "open handle, sendfile",
            Way::HandleRead => "open handle, pread + send",
            Way::OpenRead => "open, pread + send, close",
            Way::OpenSendfile => "open, sendfile, close",
        }
    }

    /// Answers one request.
    pub(super) async fn send(
        self,
        stream: &mut TcpStream,
        stored: &Stored,
        root: &Directory,
        buffer: &mut Vec<u8>,
    ) -> Sent {
        match self {
            Way::MemoryOnePiece => stream.write_all(&stored.bytes).await,
            Way::MemoryVectored => send_vectored(stream, stored).await,
            Way::HandleSendfile => {
                send_resident(stream, stored, &stored.file, stored.size, buffer).await
            }
            Way::HandleRead => send_read(stream, stored, &stored.file, stored.size, buffer).await,
            Way::OpenRead => {
                let (file, length) = open(root, stored)?;
                send_read(stream, stored, &file, length, buffer).await
            }
            Way::OpenSendfile => {
                let (file, length) = open(root, stored)?;
                send_resident(stream, stored, &file, length, buffer).await
            }
        }
    }
}

/// Opens as a loop does: without waiting if that is enough.
fn open(root: &Directory, stored: &Stored) -> io::Result<(File, u64)> {
    let path = stored.path.as_bytes();
    let opened = match root.open_file(path, Patience::MustNotWait) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            root.open_file(path, Patience::MayWait)?
        }
        opened => opened?,
    };
    Ok((opened.file, opened.metadata.identity.length))
}

async fn send_vectored(stream: &mut TcpStream, stored: &Stored) -> Sent {
    let mut slices = [IoSlice::new(stored.head()), IoSlice::new(stored.content())];
    let mut left = &mut slices[..];
    while !left.is_empty() {
        match stream.write_vectored(left).await? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            sent => IoSlice::advance_slices(&mut left, sent),
        }
    }
    Ok(())
}

/// Window by window: what is not in the page cache is read, not sent from it.
async fn send_resident(
    stream: &mut TcpStream,
    stored: &Stored,
    file: &File,
    length: u64,
    buffer: &mut Vec<u8>,
) -> Sent {
    Metadata::of(file)?;
    let mut head = stored.head();
    let mut start = 0;
    while start < length {
        let end = length.min(start + WINDOW);
        let resident = salver_os::residency(file, &(start..end)) == Residency::Resident;
        while !head.is_empty() {
            let sent = when_writable(stream, || salver_os::send_more(&*stream, head)).await?;
            head = head.get(sent..).unwrap_or_default();
        }
        if !resident || !send_window(stream, file, start, end).await? {
            send_copy(stream, file, start, end, buffer).await?;
        }
        start = end;
        let_others(start < length).await;
    }
    Ok(())
}

/// `false` if the kernel cannot send from this file.
async fn send_window(stream: &TcpStream, file: &File, start: u64, end: u64) -> io::Result<bool> {
    let mut at = start;
    while at < end {
        let count = usize::try_from(end - at).unwrap_or(usize::MAX);
        let send = || salver_os::send_file(stream, file, at, count);
        match when_writable(stream, send).await {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(sent) => at += u64::try_from(sent).unwrap_or(end - at),
            Err(error) if error.kind() == io::ErrorKind::Unsupported && at == start => {
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
        Metadata::of(file)?;
    }
    Ok(true)
}

/// Others have their turn, if there is `more` to come.
async fn let_others(more: bool) {
    if more {
        tokio::task::yield_now().await;
    }
}

async fn when_writable(
    stream: &TcpStream,
    mut send: impl FnMut() -> io::Result<usize>,
) -> io::Result<usize> {
    loop {
        match stream.try_io(Interest::WRITABLE, &mut send) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => stream.writable().await?,
            sent => return sent,
        }
    }
}

/// The head with the first window in one `send`, further windows on their own.
async fn send_read(
    stream: &mut TcpStream,
    stored: &Stored,
    file: &File,
    length: u64,
    buffer: &mut Vec<u8>,
) -> Sent {
    buffer.clear();
    buffer.extend_from_slice(stored.head());
    let first = length.min(WINDOW);
    read_behind(file, 0, first, buffer)?;
    stream.write_all(buffer).await?;
    let_others(first < length).await;
    send_copy(stream, file, first, length, buffer).await
}

async fn send_copy(
    stream: &mut TcpStream,
    file: &File,
    mut start: u64,
    end: u64,
    buffer: &mut Vec<u8>,
) -> Sent {
    while start < end {
        let next = end.min(start + WINDOW);
        buffer.clear();
        read_behind(file, start, next, buffer)?;
        stream.write_all(buffer).await?;
        start = next;
        let_others(start < end).await;
    }
    Ok(())
}

/// Appends `start..end` of the file: what is resident without waiting, else as a thread reads that
/// may wait.
fn read_behind(file: &File, start: u64, end: u64, buffer: &mut Vec<u8>) -> Sent {
    let before = buffer.len();
    let count = usize::try_from(end - start).map_err(io::Error::other)?;
    buffer.resize(before + count, 0);
    let mut rest = buffer.get_mut(before..).unwrap_or_default();
    let mut at = start;
    while !rest.is_empty() {
        let read = match salver_os::read_resident(file, rest, at) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => file.read_at(rest, at),
            read => read,
        };
        let read = read?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        at += u64::try_from(read).unwrap_or(u64::MAX);
        rest = rest.get_mut(read..).unwrap_or_default();
    }
    Metadata::of(file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::pair::{End, connect};
    use super::super::store::Store;
    use super::*;
    use std::io::Read;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn every_way_sends_the_same() {
        let temp = tempfile::tempdir().unwrap();
        let sizes = [1, 4096, 300_000, 600_001];
        let store = Store::new(temp.path(), &sizes, &AtomicBool::new(false)).unwrap();
        let store = Arc::new(store);
        let (mut senders, mut clients) = connect().unwrap();
        senders.truncate(1);
        let client = &mut clients[0];
        client.set_nonblocking(false).unwrap();
        let mut end = End::new(senders).unwrap();
        for length in 0..sizes.len() {
            for way in Way::ALL {
                std::thread::scope(|scope| {
                    scope.spawn(|| {
                        end.run(|mut stream| {
                            let store = Arc::clone(&store);
                            async move {
                                let stored = &store.lengths[length].files[0];
                                let mut buffer = Vec::new();
                                way.send(&mut stream, stored, &store.root, &mut buffer)
                                    .await?;
                                Ok(stream)
                            }
                        })
                        .unwrap();
                    });
                    let stored = &store.lengths[length].files[0];
                    let mut received = vec![0; stored.bytes.len()];
                    client.read_exact(&mut received).unwrap();
                    assert!(received == stored.bytes, "{way:?} {}", stored.size);
                });
            }
        }
        drop(end);
        assert_eq!(clients[0].read(&mut [0]).unwrap(), 0);
    }
}
