//! Two threads and the connections between them: one sends, one asks and receives. Each has an
//! event loop of the kind that the server has, so that what does not fit into a socket at once costs
//! what it costs there.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::Receiver;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

/// Connections that are kept busy, one request on each at a time: with fewer the sender would sleep
/// and be woken for each request, which a busy server is not.
pub const CONNECTIONS: usize = 8;

/// As long as requests of browsers are, without cookies.
const REQUEST: [u8; 256] = [b'r'; 256];

/// What a client takes at a time, as common ones do. It matters: with 8 KiB the sender's `sendfile`
/// of 100 KiB costs a sixth more than with 64 KiB, its `send` costs the same.
const TAKEN: usize = 16 * 1024;

/// Requests to make.
#[derive(Clone, Copy)]
pub(super) struct Job {
    /// On each connection, one after the other.
    pub(super) requests: u64,
    /// Bytes of each answer, head included.
    pub(super) answer: u64,
}

/// Connected sockets: those of the sender and those of the client.
pub(super) fn connect() -> io::Result<(Vec<TcpStream>, Vec<TcpStream>)> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let (mut senders, mut clients) = (Vec::new(), Vec::new());
    for _ in 0..CONNECTIONS {
        let client = TcpStream::connect(listener.local_addr()?)?;
        // Somebody else may be quicker to connect.
        let sender = loop {
            let (sender, peer) = listener.accept()?;
            if peer == client.local_addr()? {
                break sender;
            }
        };
        for stream in [&sender, &client] {
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
        }
        senders.push(sender);
        clients.push(client);
    }
    Ok((senders, clients))
}

/// One end of the connections, with its event loop.
pub(super) struct End {
    runtime: Runtime,
    streams: Vec<tokio::net::TcpStream>,
}

impl End {
    pub(super) fn new(streams: Vec<TcpStream>) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().build()?;
        let entered = runtime.enter();
        let streams = streams.into_iter().map(tokio::net::TcpStream::from_std);
        let streams = streams.collect::<io::Result<_>>()?;
        drop(entered);
        Ok(End { runtime, streams })
    }

    /// Runs one task for each connection to its end.
    pub(super) fn run<F>(
        &mut self,
        mut task: impl FnMut(tokio::net::TcpStream) -> F,
    ) -> io::Result<()>
    where
        F: Future<Output = io::Result<tokio::net::TcpStream>> + Send + 'static,
    {
        let streams = std::mem::take(&mut self.streams).into_iter();
        let tasks: Vec<JoinHandle<_>> = streams
            .map(|stream| self.runtime.spawn(task(stream)))
            .collect();
        let streams = &mut self.streams;
        self.runtime.block_on(async {
            for task in tasks {
                streams.push(task.await.map_err(io::Error::other)??);
            }
            Ok(())
        })
    }
}

/// The client: makes requests until there is no further job.
pub(super) fn receive(streams: Vec<TcpStream>, jobs: &Receiver<Job>) -> io::Result<()> {
    let mut end = End::new(streams)?;
    for job in jobs {
        end.run(|stream| ask(stream, job))?;
    }
    Ok(())
}

async fn ask(mut stream: tokio::net::TcpStream, job: Job) -> io::Result<tokio::net::TcpStream> {
    let mut buffer = vec![0; TAKEN];
    for _ in 0..job.requests {
        stream.write_all(&REQUEST).await?;
        let mut rest = job.answer;
        while rest > 0 {
            let most = usize::try_from(rest).map_or(TAKEN, |rest| rest.min(TAKEN));
            match stream
                .read(buffer.get_mut(..most).unwrap_or_default())
                .await?
            {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                taken => rest -= u64::try_from(taken).unwrap_or(rest),
            }
        }
    }
    Ok(stream)
}

/// The sender: takes the next request from a connection.
pub(super) async fn take_request(stream: &mut tokio::net::TcpStream) -> io::Result<()> {
    let mut request = REQUEST;
    stream.read_exact(&mut request).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn every_request_of_every_job_is_answered() {
        let (senders, clients) = connect().unwrap();
        let (jobs, queue) = channel();
        let client = std::thread::spawn(move || receive(clients, &queue));
        let mut end = End::new(senders).unwrap();
        for (requests, length) in [(1, 1), (7, 100), (3, 300_000), (50, 3)] {
            let answer = u64::try_from(length).unwrap();
            jobs.send(Job { requests, answer }).unwrap();
            end.run(|mut stream| async move {
                for _ in 0..requests {
                    take_request(&mut stream).await?;
                    stream.write_all(&vec![b'x'; length]).await?;
                }
                Ok(stream)
            })
            .unwrap();
        }
        drop(jobs);
        client.join().unwrap().unwrap();
        // Nothing is left over.
        end.run(|mut stream| async move {
            assert_eq!(stream.read(&mut [0]).await?, 0);
            Ok(stream)
        })
        .unwrap();
    }

    #[test]
    fn who_goes_away_ends_the_other() {
        let (senders, clients) = connect().unwrap();
        let (jobs, queue) = channel();
        let client = std::thread::spawn(move || receive(clients, &queue));
        let job = Job {
            requests: 1,
            answer: 1,
        };
        jobs.send(job).unwrap();
        drop(senders);
        assert!(client.join().unwrap().is_err());
    }
}
